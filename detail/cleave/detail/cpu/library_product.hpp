#pragma once

#include <algorithm>
#include <type_traits>

#include <cleave/core/scalar.hpp>
#include <cleave/core/tensor.hpp>
#include <cleave/detail/cpu/block.hpp>
#include <cleave/detail/cpu/panels.hpp>
#include <cleave/detail/cpu/product.hpp>
#include <cleave/detail/cpu/workspace.hpp>

namespace cleave::detail::cpu {

// What is left to do where another library multiplies: it computes c += a b for matrices of one type, float or double.

/// Whether the vectors of a factor lie side by side, as the columns of a stored matrix, and not as its rows.
template <typename T>
[[nodiscard]] constexpr bool side_by_side(Vectors<T> factor) {
  return factor.step == 1;
}
/// How far apart the rows of that stored matrix are.
template <typename T>
[[nodiscard]] constexpr Index stride_of(Vectors<T> factor) {
  return side_by_side(factor) ? factor.depth_step : factor.step;
}

/// Makes c what its sums start from.
template <typename T>
void write_start(Matrix<T> c, Start<T> start) {
  for (Index i = 0; i != c.rows; ++i) {
    if (start.data == nullptr) {
      std::fill_n(c.row(i).data, c.columns, T{});
    } else if (start.data != c.data) {
      std::copy_n(start.at(i, 0).data, c.columns, c.row(i).data);
    }
  }
}

/// Copies `count` vectors of `depth` terms to `to`, in its type; they lie side by side if they did.
template <typename T, typename From>
[[nodiscard]] Vectors<T> widen(T* to, Vectors<From> from, Index count, Index depth) {
  Index const rows = side_by_side(from) ? depth : count;
  Index const columns = side_by_side(from) ? count : depth;
  convert_rows(Matrix<T>{to, rows, columns}, Matrix<From const>{from.data, rows, columns, stride_of(from)});
  return side_by_side(from) ? Vectors<T>{to, 1, columns} : Vectors<T>{to, columns, 1};
}

/// c += a b from factors of a narrower type: tiles of them are widened, in the second half of the left block's area.
template <typename T, typename From, typename MultiplyAdd>
void multiply_add_widened(Workspace const& workspace, int thread, Matrix<T> c, Vectors<From> a, Vectors<From> b,
                          Index inner, MultiplyAdd const& multiply_add) {
  constexpr Index side = 240; // whole tiles of Eigen's kernel, so that results do not depend on the number of threads
  static_assert(2 * side * side * static_cast<Index>(sizeof(T)) <= Workspace::left_bytes / 2);
  T* const left = workspace.left<T>(thread).data() + Workspace::left_bytes / 2 / static_cast<Index>(sizeof(T));
  T* const right = left + side * side;
  for (Index i = 0; i < c.rows; i += side) {
    Matrix<T> const rows = c.row_slice(i, std::min(side, c.rows - i));
    for (Index k = 0; k < inner; k += side) {
      Index const depth = std::min(side, inner - k);
      Vectors<T> const wide = widen(left, a.at(i, k), rows.rows, depth);
      for (Index j = 0; j < c.columns; j += side) {
        Matrix<T> const tile = rows.column_slice(j, std::min(side, c.columns - j));
        multiply_add(tile, wide, widen(right, b.at(j, k), tile.columns, depth), depth);
      }
    }
  }
}

/// c = start + a b on one thread. multiply_add(c, a, b, inner) is the library's c += a b; of the workspace it may use
/// the first half of the left block's area, and the right block's.
template <typename T, typename From, typename MultiplyAdd>
void multiply_by_library(Workspace const& workspace, int thread, Matrix<T> c, Start<T> start, Vectors<From> a,
                         Vectors<From> b, Index inner, MultiplyAdd const& multiply_add) {
  write_start(c, start);
  if (inner == 0) {
    return;
  }
  if constexpr (std::is_same_v<T, From>) {
    multiply_add(c, a, b, inner);
  } else {
    multiply_add_widened(workspace, thread, c, a, b, inner, multiply_add);
  }
}

} // namespace cleave::detail::cpu
