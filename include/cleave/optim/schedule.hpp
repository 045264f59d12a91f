#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace cleave::optim {

/// The same learning rate at every step.
struct Constant {
  double learning_rate = 1e-3;

  [[nodiscard]] double operator()(std::int64_t /*step*/) const { return learning_rate; }
};

/// Rises in a line to `learning_rate` over `warmup` steps, then falls along half a cosine to `minimum` at `steps`
/// (SGDR without restarts, Loshchilov and Hutter, 2017). Steps count from 0; past
/// `steps` it stays at `minimum`. With `warmup` beyond `steps` it only rises.
struct CosineWithWarmup {
  double learning_rate = 1e-3;
  double minimum = 0;
  std::int64_t warmup = 0;
  std::int64_t steps = 1;

  [[nodiscard]] double operator()(std::int64_t step) const {
    if (step < warmup) {
      return learning_rate * static_cast<double>(step + 1) / static_cast<double>(warmup);
    }
    auto const length = static_cast<double>(std::max<std::int64_t>(1, steps - warmup));
    double const done = std::min(1.0, static_cast<double>(step - warmup) / length);
    return minimum + 0.5 * (learning_rate - minimum) * (1 + std::cos(std::numbers::pi * done));
  }
};

} // namespace cleave::optim
