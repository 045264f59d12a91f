#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <cleave/core/arena.hpp>
#include <cleave/layers/layer_list.hpp>
#include <cleave/sharded/memory_plan.hpp>

namespace cleave::detail {

/// One arena for each region of the plan. Without memory they count: that is how the plan is made.
using Regions = std::array<Arena, buffer_kinds>;

constexpr Arena& region(Regions& regions, Buffer buffer) { return regions[static_cast<std::size_t>(buffer)]; }

/// Allocates each region of a plan, and an arena over it.
template <typename Memory>
std::array<Memory, buffer_kinds> allocate(MemoryPlan plan) {
  plan[Buffer::optimizer_state] = 0; // the optimizer's own
  plan[Buffer::workspace] = 0;       // the streams' own
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<Memory, buffer_kinds>{Memory(plan.bytes[I])...};
  }(std::make_index_sequence<buffer_kinds>{});
}
template <typename Memory>
Regions arenas_over(std::array<Memory, buffer_kinds> const& memory) {
  Regions regions;
  for (std::size_t i = 0; i != buffer_kinds; ++i) {
    regions[i] = Arena(memory[i].data(), memory[i].size());
  }
  return regions;
}

/// A model's inputs or targets on the device: token (or class) ids, or rows of features.
template <typename Master>
struct Staging {
  Vector<std::int32_t> ids;
  Vector<Master> features;
};

/// Cuts the room for `rows` rows; width 0 stands for ids.
template <typename Master>
constexpr Staging<Master> cut_staging(Arena& arena, Index rows, int width) {
  if (width == 0) {
    return {arena.vector<std::int32_t>(rows), {}};
  }
  return {{}, arena.vector<Master>(rows * width)};
}

/// Features a row of a model's input has; 0: it starts from token ids.
template <typename C>
inline constexpr int input_width = C::Chain::input_width;

/// Numbers a row of a model's targets has; 0: they are class ids. Without a loss, the row is the output's gradient.
template <typename C>
inline constexpr int target_width = [] {
  using Last = typename C::Chain::Last;
  if constexpr (!C::Chain::has_loss) {
    return C::Chain::output_width;
  } else {
    return std::is_same_v<typename Last::Target, std::int32_t> ? 0 : int{Last::inputs};
  }
}();

/// The engine's views, cut from the regions in one fixed order.
template <typename C>
struct Buffers {
  template <typename T, int N>
  using Views = std::array<Vector<T>, static_cast<std::size_t>(N)>;

  Views<typename C::Master, C::units> master;                  // by unit: its slice, or all of it
  Views<typename C::Gradient, C::units> reduced;               // by unit: the slice of the reduced gradient
  Views<typename C::Compute, C::whole_buffers> whole;          // root first, then the shared or the units' own
  Views<typename C::Gradient, C::gradient_buffers> gradients;  // the same
  Views<std::byte, C::scratch_buffers> scratch;                // root first, then shared
  Staging<typename C::Master> inputs;
  Staging<typename C::Master> targets;
  double* loss = nullptr; // the sum over this rank's rows
  double* norm = nullptr; // the sum of this rank's squared gradients

  constexpr Buffers() = default;
  constexpr Buffers(Regions& regions, Shape shape, int ranks) {
    for (int unit = 0; unit != C::units; ++unit) {
      auto const u = static_cast<std::size_t>(unit);
      master[u] = region(regions, Buffer::parameter_shards).template vector<typename C::Master>(C::kept(unit, ranks));
      reduced[u] = region(regions, Buffer::gradient_shards)
                       .template vector<typename C::Gradient>(C::shard_layout(unit, ranks).shard());
    }
    cut(whole, region(regions, Buffer::gathered_parameters), C::keeps_whole, ranks);
    cut(gradients, region(regions, Buffer::gradients), !C::Sharding::shards_gradients, ranks);
    cut_scratch(region(regions, Buffer::exchange), ranks);
    Arena& staging = region(regions, Buffer::inputs);
    inputs = detail::cut_staging<typename C::Master>(staging, shape.rows(), input_width<C>);
    targets = detail::cut_staging<typename C::Master>(staging, shape.rows(), target_width<C>);
    loss = staging.vector<double>(1).data;
    norm = staging.vector<double>(1).data;
  }

private:
  /// Elements of buffer b: the root's, a unit's own, or the largest of those that share.
  static constexpr Index elements(std::size_t b, bool own, int ranks) {
    int const unit = static_cast<int>(b);
    return own || unit < C::roots ? C::shard_layout(unit, ranks).padded() : C::largest_padded(ranks);
  }
  template <typename T, std::size_t N>
  static constexpr void cut(std::array<Vector<T>, N>& views, Arena& arena, bool own, int ranks) {
    for (std::size_t b = 0; b != N; ++b) {
      views[b] = arena.vector<T>(elements(b, own, ranks));
    }
  }
  constexpr void cut_scratch(Arena& arena, int ranks) {
    for (std::size_t b = 0; b != scratch.size(); ++b) {
      Index const shard = elements(b, false, ranks) / ranks;
      scratch[b] =
          arena.vector<std::byte>(C::Communicator::template reduce_scratch_bytes<typename C::Gradient>(shard, ranks));
    }
  }
};

} // namespace cleave::detail
