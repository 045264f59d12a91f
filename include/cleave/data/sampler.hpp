#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include <cleave/core/error.hpp>
#include <cleave/core/tensor.hpp>
#include <cleave/detail/data/permutation.hpp>

namespace cleave::data {

/// Which samples of a data set a rank takes in an epoch: the very indices of PyTorch's
/// torch.utils.data.DistributedSampler, for the same seed and epoch.
///
/// Every rank gets equally many. Where the data set does not divide, samples are taken again from the front, or with
/// `drop_last` the last ones are left out.
class DistributedSampler {
public:
  struct Options {
    bool shuffle = true; ///< false: in order
    std::uint64_t seed = 0;
    bool drop_last = false;
  };

  /// Throws InvalidArgument for a negative size, or a rank that is not in [0, ranks).
  DistributedSampler(Index data_set_size, int ranks, int rank, Options options)
      : data_set_size_(data_set_size), ranks_(ranks), rank_(rank), options_(options) {
    if (data_set_size < 0 || rank < 0 || rank >= ranks) {
      throw InvalidArgument(
          "expected a data set of 0 samples or more and a rank from 0 to ranks - 1, found {} samples, "
          "rank {} of {}; correct the sampler's arguments",
          data_set_size, rank, ranks);
    }
  }
  DistributedSampler(Index data_set_size, int ranks, int rank)
      : DistributedSampler(data_set_size, ranks, rank, Options{}) {}

  /// Another epoch is another order. All ranks must set the same.
  void set_epoch(std::uint64_t epoch) { epoch_ = epoch; }
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }

  /// Samples that each rank takes in an epoch.
  [[nodiscard]] Index size() const {
    return (options_.drop_last ? data_set_size_ : data_set_size_ + ranks_ - 1) / ranks_;
  }

  /// This rank's samples in this epoch, in order. Takes memory and time for the whole data set.
  [[nodiscard]] std::vector<Index> indices() const {
    std::vector<Index> const order = epoch_order();
    std::vector<Index> mine(static_cast<std::size_t>(size()));
    for (std::size_t i = 0; i != mine.size(); ++i) {
      std::size_t const place = static_cast<std::size_t>(rank_) + i * static_cast<std::size_t>(ranks_);
      mine[i] = order[place % order.size()];
    }
    return mine;
  }

private:
  [[nodiscard]] std::vector<Index> epoch_order() const {
    if (options_.shuffle) {
      return detail::torch_permutation(data_set_size_, options_.seed + epoch_);
    }
    std::vector<Index> order(static_cast<std::size_t>(data_set_size_));
    std::iota(order.begin(), order.end(), Index{0});
    return order;
  }

  Index data_set_size_;
  int ranks_;
  int rank_;
  Options options_;
  std::uint64_t epoch_ = 0;
};

} // namespace cleave::data
