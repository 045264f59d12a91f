#pragma once

#include <algorithm>

#include <cleave/testing/gradient_check.hpp>

namespace cleave::testing {

/// What a right layer stays below; measured are 2e-11 (activations) to 1.1e-9 (a GPT block).
inline constexpr double gradient_tolerance = 1e-8;

/// The largest error of the gradient checks of L over several shapes and seeds.
template <typename L>
[[nodiscard]] double gradient_error(GradientCheckOptions options = {}) {
  double error = 0;
  for (Shape const shape : {Shape{1, 1}, Shape{1, 6}, Shape{5, 1}, Shape{3, 4}}) {
    for (options.seed = 1; options.seed != 4; ++options.seed) {
      options.shape = shape;
      GradientErrors found;
      if constexpr (loss_layer<L>) {
        found = check_loss_gradient<L>(options);
      } else {
        found = check_gradient<L>(options);
      }
      error = std::max({error, found.input, found.parameters, found.value});
    }
  }
  return error;
}

} // namespace cleave::testing
