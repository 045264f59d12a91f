#pragma once

#include <cstdint>

namespace cleave {

/// What a micro-batch's loss came to on this rank: the sum over its rows and how many rows count.
///
/// Local: other ranks hold other rows. After backward, `mean_loss()` of the model is the mean over all of them.
struct Loss {
  double sum = 0;
  double weight = 0;
  std::uint64_t forward = 0; ///< which forward of the model it belongs to

  /// NaN where no row counts.
  [[nodiscard]] double mean() const { return sum / weight; }
};

} // namespace cleave
