#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include <cleave/core/tensor.hpp>

namespace cleave {

/// What a model keeps in memory. Each is one region, allocated once, at construction.
enum class Buffer {
  parameter_shards,    ///< master weights: this rank's slices (whole without sharding)
  gradient_shards,     ///< reduced gradients: this rank's slices
  optimizer_state,     ///< moments, as many as the optimizer keeps
  gathered_parameters, ///< whole weights of the units at work
  gradients,           ///< whole gradients until they are reduced
  exchange,            ///< what the communicator receives before it adds
  activations,         ///< activations, their gradients and scratch of layers
  inputs,              ///< tokens or features, targets, the loss
  workspace,           ///< packing buffers and tiles of matrix products, for each thread
};
inline constexpr std::size_t buffer_kinds = 9;

/// When a region holds something: a region is used in the phases that are set.
struct Phases {
  bool rest = false; ///< between steps
  bool forward = false;
  bool backward = false;
  bool step = false;
};

struct BufferKind {
  std::string_view name;
  Phases phases;
};
inline constexpr std::array<BufferKind, buffer_kinds> buffer_kind{{
    {"parameter shards", {true, true, true, true}},
    {"gradient shards", {false, false, true, true}},
    {"optimizer state", {true, true, true, true}},
    {"gathered parameters", {false, true, true, false}},
    {"gradients", {false, false, true, false}},
    {"exchange", {false, false, true, false}},
    {"activations", {false, true, true, false}},
    {"inputs", {false, true, true, false}},
    {"workspace", {false, true, true, true}},
}};

/// Bytes of each region on one rank, before anything is allocated. The engine allocates exactly these.
struct MemoryPlan {
  std::array<Index, buffer_kinds> bytes{};

  [[nodiscard]] constexpr Index operator[](Buffer buffer) const { return bytes[static_cast<std::size_t>(buffer)]; }
  constexpr Index& operator[](Buffer buffer) { return bytes[static_cast<std::size_t>(buffer)]; }

  /// The sum of all regions: they are allocated once, so this is the peak.
  [[nodiscard]] constexpr Index peak() const {
    Index sum = 0;
    for (Index const region : bytes) {
      sum += region;
    }
    return sum;
  }
  friend constexpr bool operator==(MemoryPlan const&, MemoryPlan const&) = default;
};

/// What a plan depends on beside the model's type.
struct PlanOptions {
  int ranks = 1;
  Index batch = 1;    ///< sequences (or rows) a rank takes at once
  Index sequence = 1; ///< positions of a sequence
  int threads = 1;    ///< cores a rank uses
  int moments = 2;    ///< values the optimizer keeps for each weight: AdamW 2, Sgd 1
};

/// The bytes that one rank of Model will allocate: a constant expression.
///
///     static_assert(memory_plan<Model>({.ranks = 64, .batch = 8, .sequence = 1024}).peak() < 80e9);
template <typename Model>
[[nodiscard]] constexpr MemoryPlan memory_plan(PlanOptions options) {
  return Model::plan(options);
}

} // namespace cleave
