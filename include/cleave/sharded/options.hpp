#pragma once

#include <cstdint>

#include <cleave/core/tensor.hpp>

namespace cleave {

/// What a model is built with.
struct ModelOptions {
  Index batch = 1;       ///< the most sequences (or rows) that this rank takes at once
  Index sequence = 1;    ///< positions of a sequence; rows = batch x sequence
  std::uint64_t seed = 0; ///< of first weights and of dropout
  double dropout = 0;    ///< probability, for models with Dropout layers
  int threads = 0;       ///< cores for this rank; 0: this machine's cores, divided among its ranks
};

/// How many collectives a model has started, for whoever wants to see the schedule.
struct CollectiveCounts {
  std::int64_t gathers = 0;         ///< all-gathers of units' weights
  std::int64_t reduce_scatters = 0; ///< reduce-scatters of units' gradients

  friend constexpr bool operator==(CollectiveCounts const&, CollectiveCounts const&) = default;
};

} // namespace cleave
