#pragma once

#include <cleave/layers/layer.hpp>

namespace cleave::detail {

/// A layer that computes what L computes; what wraps it changes only how parameters are described.
template <layer L>
struct Wrapper {
  static constexpr int inputs = L::inputs;
  static constexpr int outputs = L::outputs;
  static constexpr int vocabulary = cleave::vocabulary<L>;
  static constexpr int longest_sequence = cleave::longest_sequence<L>;
  static constexpr bool names_itself = cleave::names_itself<L>;
  static constexpr bool saves_output = cleave::saves_output<L>;

  template <typename T>
  using Saved = typename L::template Saved<T>;

  template <typename P, typename X>
  static constexpr void forward(P& pass, WeightsOf<P> weights, X x, OutputOf<P> y, Saved<ScalarOf<P>>& saved) {
    L::forward(pass, weights, x, y, saved);
  }
  template <typename P>
  static constexpr void backward(P& pass, WeightsOf<P> weights, GradientsOf<P> gradients,
                                 Saved<ScalarOf<P>> const& saved, InputOf<P> dy, OutputOf<P> dx) {
    L::backward(pass, weights, gradients, saved, dy, dx);
  }
};

/// The same for a loss.
template <loss_layer L>
struct LossWrapper {
  using Target = typename L::Target;
  static constexpr int inputs = L::inputs;
  static constexpr int outputs = L::outputs;

  template <typename P, typename Targets>
  static constexpr void value(P& pass, WeightsOf<P> weights, InputOf<P> x, Targets targets, double* sum) {
    L::value(pass, weights, x, targets, sum);
  }
  template <typename P, typename Targets>
  static constexpr void value_and_gradient(P& pass, WeightsOf<P> weights, GradientsOf<P> gradients, InputOf<P> x,
                                           Targets targets, double scale, OutputOf<P> dx, double* sum) {
    L::value_and_gradient(pass, weights, gradients, x, targets, scale, dx, sum);
  }
  template <typename P>
  static constexpr void logits(P& pass, WeightsOf<P> weights, InputOf<P> x, OutputOf<P> y) {
    L::logits(pass, weights, x, y);
  }
};

} // namespace cleave::detail
