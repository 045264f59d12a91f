#pragma once

#include <cstddef>
#include <string_view>

#include <cleave/core/error.hpp>
#include <cleave/core/tensor.hpp>

namespace cleave::detail {

/// `all` holds one slice of `slice` elements for each rank.
inline void check_slices(std::string_view collective, std::size_t all, std::size_t slice, int ranks) {
  if (all != slice * static_cast<std::size_t>(ranks)) {
    throw InvalidArgument("{}: the whole has {} elements, but {} ranks x {} elements are {}. "
                          "Make the whole as long as all slices together.",
                          collective, all, ranks, slice, slice * static_cast<std::size_t>(ranks));
  }
}

inline void check_scratch(std::size_t found, Index expected) {
  if (found < static_cast<std::size_t>(expected)) {
    throw InvalidArgument("reduce_scatter: scratch has {} bytes, expected at least {}. "
                          "Size it by reduce_scratch_bytes.",
                          found, expected);
  }
}

inline void check_root(int root, int ranks) {
  if (root < 0 || root >= ranks) {
    throw InvalidArgument("broadcast: root is rank {}, but ranks are 0 to {}. Pass one of them.", root, ranks - 1);
  }
}

inline void check_color(int color, int rank) {
  if (color < 0) {
    throw InvalidArgument("split: rank {} has color {}, expected 0 or more. Give each group a number from 0.", rank,
                          color);
  }
}

} // namespace cleave::detail
