#pragma once

#include <cleave/core/error.hpp>

namespace cleave::optim {

/// Scales the gradient of the whole model so that its 2-norm is at most `max_norm`; returns the norm before, equal on
/// every rank (torch.nn.utils.clip_grad_norm_: the factor is max_norm / (norm + 1e-6) when that is below 1). The
/// scaling is folded into the next step, so clip after the last micro-batch: another backward takes it back. A
/// collective. Throws InvalidArgument unless max_norm is above 0.
template <typename Model>
double clip_gradient_norm(Model& model, double max_norm) {
  if (!(max_norm > 0)) {
    throw InvalidArgument("cleave::optim::clip_gradient_norm: max_norm is {}: expected more than 0. Leave clipping out "
                          "where there is no limit.",
                          max_norm);
  }
  double const norm = model.gradient_norm();
  double const factor = max_norm / (norm + 1e-6);
  model.scale_gradients(factor > 1 ? 1 : factor); // a norm that is no number stays one
  return norm;
}

} // namespace cleave::optim
