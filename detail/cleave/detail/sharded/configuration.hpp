#pragma once

#include <algorithm>
#include <concepts>

#include <cleave/core/scalar.hpp>
#include <cleave/sharded/flat_layout.hpp>

namespace cleave::detail {

/// The canonical form of a pack: chain and policies in fixed slots, and the counts that follow from them.
template <typename ChainType, typename PrecisionPolicy, typename ShardingPolicy, typename Prefetch,
          typename ForwardPrefetch, typename ReductionPolicy, typename CommunicatorType, typename DeviceType>
struct Configuration {
  using Chain = ChainType;
  using Precision = PrecisionPolicy;
  using Sharding = ShardingPolicy;
  using BackwardPrefetch = Prefetch;
  using Forward = ForwardPrefetch;
  using Reduction = ReductionPolicy;
  using Communicator = CommunicatorType;
  using Device = DeviceType;
  using Master = typename Precision::Master;
  using Compute = typename Precision::Compute;
  using Gradient = typename Precision::Reduce;

  static constexpr int units = Chain::units;
  static constexpr int roots = Chain::has_root ? 1 : 0;
  static constexpr int ordinary = units - roots; // units that are not the root

  /// Master weights are whole and of the compute type: they are the weights, and nothing is gathered.
  static constexpr bool computes_on_master = !Sharding::shards_optimizer && std::same_as<Master, Compute>;
  /// Each unit has a buffer of its own for its whole weights; otherwise ordinary units share a few.
  static constexpr bool keeps_whole = !Sharding::reshards_after_forward;
  static constexpr int depth = std::max(int{BackwardPrefetch::depth}, int{Forward::depth});
  static constexpr int whole_buffers = computes_on_master ? 0
                                       : keeps_whole      ? units
                                                          : roots + std::min(ordinary, depth + 1);

  /// Gradients in flight: one unit is computed while the one before it is reduced.
  static constexpr int reductions = std::min(ordinary, 2);
  static constexpr int gradient_buffers = Sharding::shards_gradients ? roots + reductions : units;
  static constexpr int scratch_buffers = roots + reductions;

  [[nodiscard]] static constexpr ShardLayout shard_layout(int unit, int ranks) {
    return {Chain::sizes[static_cast<std::size_t>(unit)], ranks};
  }
  /// Elements of the largest flat parameter among the units that share buffers, padded.
  [[nodiscard]] static constexpr Index largest_padded(int ranks) {
    Index largest = 0;
    for (int unit = roots; unit < units; ++unit) {
      largest = std::max(largest, shard_layout(unit, ranks).padded());
    }
    return largest;
  }
  /// Elements of master weights and optimizer state that a rank keeps of a unit.
  [[nodiscard]] static constexpr Index kept(int unit, int ranks) {
    ShardLayout const layout = shard_layout(unit, ranks);
    return Sharding::shards_optimizer ? layout.shard() : layout.padded();
  }
};

} // namespace cleave::detail
