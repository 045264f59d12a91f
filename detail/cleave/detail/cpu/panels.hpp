#pragma once

#include <algorithm>

#include <cleave/core/tensor.hpp>
#include <cleave/detail/cpu/block.hpp>
#include <cleave/detail/cpu/lanes.hpp>

namespace cleave::detail::cpu {

/// A factor of a matrix product as the kernel sees it: `count` vectors (rows of the left one, columns of the right
/// one) of `depth` terms. Element k of vector i lies at data[i * step + k * depth_step]; one of the steps is 1.
template <typename T>
struct Vectors {
  T const* data;
  Index step;
  Index depth_step;

  [[nodiscard]] Vectors at(Index vector, Index term) const {
    return {data + vector * step + term * depth_step, step, depth_step};
  }
};

/// Packs `count` vectors (at most `width`), terms `first` to `last`, as to[k * width + i].
template <Index width, typename T, typename From>
void pack_scalars(T* to, Vectors<From> from, Index count, Index first, Index last) {
  for (Index k = first; k != last; ++k) {
    for (Index i = 0; i != count; ++i) {
      to[k * width + i] = convert<T>(from.data[i * from.step + k * from.depth_step]);
    }
  }
}

/// The same for `count` vectors that lie side by side.
template <Index width, Index count, typename T, typename From>
void pack_side_by_side(T* to, Vectors<From> from, Index depth) {
  for (Index k = 0; k != depth; ++k) {
    for (Index i = 0; i != count; ++i) {
      to[k * width + i] = convert<T>(from.data[i + k * from.depth_step]);
    }
  }
}

/// The same for `count` vectors that lie term by term: transposes blocks.
template <Index width, Index count, typename T, typename From>
void pack_term_by_term(T* to, Vectors<From> from, Index depth) {
  Index k = 0;
  for (; k + count <= depth; k += count) {
    transpose_block<count>(to + k * width, width, from.data + k, from.step);
  }
  pack_scalars<width>(to, from, count, k, depth);
}

/// Packs one panel, and fills it up with zeros to the register that its last vector is in.
template <Index width, typename T, typename From>
void pack_panel(T* to, Vectors<From> from, Index count, Index depth) {
  constexpr Index group = std::min(width, lanes<T>);
  if (from.step == 1 && count == width) {
    pack_side_by_side<width, width>(to, from, depth);
    return;
  }
  Index done = 0;
  for (; done + group <= count; done += group) {
    from.step == 1 ? pack_side_by_side<width, group>(to + done, from.at(done, 0), depth)
                   : pack_term_by_term<width, group>(to + done, from.at(done, 0), depth);
  }
  if (done != count) {
    pack_scalars<width>(to + done, from.at(done, 0), count - done, 0, depth);
    for (Index k = 0; k != depth; ++k) {
      std::fill(to + k * width + count, to + k * width + done + group, T{});
    }
  }
}

/// Packs vectors into panels of `width`, one after the other, as the kernel reads them.
template <Index width, typename T, typename From>
void pack(T* to, Vectors<From> from, Index count, Index depth) {
  for (Index i = 0; i < count; i += width) {
    pack_panel<width>(to + i * depth, from.at(i, 0), std::min(width, count - i), depth);
  }
}

} // namespace cleave::detail::cpu
