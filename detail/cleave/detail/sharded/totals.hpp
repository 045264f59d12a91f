#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <cleave/comm/tag.hpp>
#include <cleave/core/error.hpp>
#include <cleave/sharded/loss.hpp>

namespace cleave::detail {

/// What the micro-batches since the last step came to, over all ranks.
template <typename Reduction>
class Totals {
public:
  /// Adds a micro-batch of every rank. Every rank calls it, so the totals are equal everywhere.
  template <typename Communicator>
  void add(Communicator& communicator, Loss const& loss) {
    std::array<double, 2> values{loss.sum * Reduction::seed(loss.weight), Reduction::share(loss.weight)};
    communicator.all_reduce(comm::no_unit, std::span<double>(values));
    loss_ += values[0];
    share_ += values[1];
    clip_ = 1;
  }

  /// What a reduced gradient is multiplied by to be the gradient of the loss.
  [[nodiscard]] double gradient_scale() const { return Reduction::divides ? clip_ / share_ : clip_; }
  [[nodiscard]] double mean_loss() const { return loss_ / share_; }
  void scale(double factor) { clip_ *= factor; }
  void clear() { *this = Totals{}; }

  [[nodiscard]] bool empty() const { return share_ == 0; }

private:
  double loss_ = 0;
  double share_ = 0;
  double clip_ = 1;
};

} // namespace cleave::detail
