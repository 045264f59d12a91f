#pragma once

#include <algorithm>

namespace cleave::optim {

/// Scales the gradient of the whole model so that its 2-norm is at most `max_norm`; returns the norm before, equal on
/// every rank (torch.nn.utils.clip_grad_norm_: the factor is max_norm / (norm + 1e-6) when that is below 1). The
/// scaling is folded into the next step, so clip after the last micro-batch: another backward takes it back. A
/// collective.
template <typename Model>
double clip_gradient_norm(Model& model, double max_norm) {
  double const norm = model.gradient_norm();
  model.scale_gradients(std::min(1.0, max_norm / (norm + 1e-6)));
  return norm;
}

} // namespace cleave::optim
