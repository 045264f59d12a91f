#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include <cleave/core/arena.hpp>
#include <cleave/core/parameter.hpp>

namespace cleave {

/// A parameter and where it starts in its unit's flat parameter, in elements.
struct Placement {
  Parameter parameter;
  Index offset = 0;

  [[nodiscard]] constexpr Index size() const { return parameter.shape.size(); }
};

/// A unit's parameters laid end to end in one buffer; views on it are the weights.
template <std::size_t N>
struct FlatLayout {
  std::array<Placement, N> placements{};
  Index size = 0; ///< elements of the whole

  /// The placement of a name, or null.
  [[nodiscard]] constexpr Placement const* find(Name const& name) const {
    for (Placement const& placement : placements) {
      if (placement.parameter.name == name) {
        return &placement;
      }
    }
    return nullptr;
  }
};

/// How ranks cut a flat parameter of `size` elements: equal slices, the tail of the last ones is padding, which no
/// checkpoint holds.
///
/// A slice has ceil(size / ranks) elements, rounded up to 128 bytes of float (64 of bfloat16), so that every slice is
/// aligned for wide loads and NCCL; slices so short that this would cost over 3% stay as they are.
struct ShardLayout {
  Index size = 0;
  int ranks = 1;

  [[nodiscard]] constexpr Index shard() const {
    constexpr Index aligned = 32;
    Index const exact = (size + ranks - 1) / ranks;
    return exact < 32 * aligned ? exact : round_up(exact, aligned);
  }
  [[nodiscard]] constexpr Index padded() const { return shard() * ranks; }
  /// The first element of a rank's slice, and how many of its elements are not padding.
  [[nodiscard]] constexpr Index first(int rank) const { return std::min(rank * shard(), size); }
  [[nodiscard]] constexpr Index count(int rank) const { return std::min(shard(), size - first(rank)); }
};

} // namespace cleave
