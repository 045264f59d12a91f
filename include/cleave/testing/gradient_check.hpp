#pragma once

#include <cleave/detail/testing/layer_probe.hpp>
#include <cleave/detail/testing/loss_probe.hpp>
#include <cleave/layers/layer.hpp>

/// For people who write layers: is backward the derivative of forward?
namespace cleave::testing {

/// Compares backward of a layer with central differences of forward, in float64, at random parameters and input. Both
/// errors of a right layer are below 1e-7 or so. (torch.autograd.gradcheck.)
///
/// A gradient that is overwritten instead of added to, a dx that is not written, and NaN count as wrong too. Throws
/// Error when a layer cuts more from its arena than the same layer's plan.
///
///     CHECK_LT(testing::check_gradient<MyLayer>().parameters, 1e-7);
template <layer L>
[[nodiscard]] GradientErrors check_gradient(GradientCheckOptions options = {}) {
  return detail::LayerProbe<L>(options).run();
}

/// The same for a loss: the gradient that value_and_gradient takes against central differences of value, and the two
/// values against each other.
template <loss_layer L>
[[nodiscard]] GradientErrors check_loss_gradient(GradientCheckOptions options = {}) {
  return detail::LossProbe<L>(options).run();
}

} // namespace cleave::testing
