#pragma once

#include <algorithm>
#include <cassert>
#include <type_traits>

#include <cleave/core/scalar.hpp>
#include <cleave/core/tensor.hpp>
#include <cleave/detail/cpu/block.hpp>
#include <cleave/detail/cpu/matrix_product.hpp>
#include <cleave/detail/cpu/panels.hpp>
#include <cleave/detail/cpu/parallel.hpp>
#include <cleave/detail/cpu/product.hpp>
#include <cleave/detail/cpu/workspace.hpp>
#include <cleave/device/operations.hpp>

namespace cleave::detail::cpu {

/// The rows of a, or of its transpose.
template <typename T>
[[nodiscard]] constexpr Vectors<T> rows_of(Matrix<T const> a, bool transposed = false) {
  return {a.data, transposed ? 1 : a.stride, transposed ? a.stride : 1};
}
/// The columns of b, or of its transpose.
template <typename T>
[[nodiscard]] constexpr Vectors<T> columns_of(Matrix<T const> b, bool transposed = false) {
  return rows_of(b, !transposed);
}

/// A product whose result is narrower than its sums: blocks of it are summed up in a tile, then stored once.
template <typename O, typename T>
void multiply_and_round(Workspace const& workspace, int thread, Matrix<O> c, Vectors<T> a, Vectors<T> b, Index inner,
                        bool accumulate, T const* bias) {
  using A = accumulator_t<T>;
  constexpr Index side = 480; // whole tiles of the kernels: Eigen's sums up what is left in another order
  static_assert(side * side * static_cast<Index>(sizeof(A)) <= Workspace::tile_bytes);
  for (Index i = 0; i < c.rows; i += side) {
    for (Index j = 0; j < c.columns; j += side) {
      Matrix<O> const target =
          c.row_slice(i, std::min(side, c.rows - i)).column_slice(j, std::min(side, c.columns - j));
      Matrix<A> const sum{workspace.tiles<A>(thread).data(), target.rows, target.columns};
      multiply_matrices(workspace, thread, sum, Start<A>{}, a.at(i, 0), b.at(j, 0), inner);
      for (Index r = 0; r != sum.rows; ++r) {
        A const* const from = sum.row(r).data;
        O* const to = target.row(r).data;
        for (Index n = 0; n != sum.columns; ++n) {
          A const start = accumulate ? convert<A>(to[n]) : (bias == nullptr ? A{} : convert<A>(bias[j + n]));
          to[n] = convert<O>(start + from[n]);
        }
      }
    }
  }
}

template <typename O, typename T>
void multiply_into(Workspace const& workspace, int thread, Matrix<O> c, Vectors<T> a, Vectors<T> b, Index inner,
                   bool accumulate, T const* bias) {
  Start<O> const itself{c.data, c.stride};
  if constexpr (std::is_same_v<O, T> && std::is_same_v<T, accumulator_t<T>>) {
    multiply_matrices(workspace, thread, c, accumulate ? itself : Start<O>{bias, 0}, a, b, inner);
  } else if constexpr (std::is_same_v<O, accumulator_t<T>>) {
    bias == nullptr ? multiply_matrices(workspace, thread, c, accumulate ? itself : Start<O>{}, a, b, inner)
                    : multiply_and_round(workspace, thread, c, a, b, inner, accumulate, bias);
  } else {
    multiply_and_round(workspace, thread, c, a, b, inner, accumulate, bias);
  }
}

template <typename O, typename Element, typename T = std::remove_const_t<Element>>
void apply(Workspace& workspace, op::MatMul const& op, Matrix<O> c, Matrix<Element> a, Given<Matrix<T const>> b,
           Given<Vector<T const>> bias) {
  Index const inner = op.transpose_a ? a.rows : a.columns;
  assert(c.rows == (op.transpose_a ? a.columns : a.rows) && "MatMul: c has as many rows as a");
  assert(c.columns == (op.transpose_b ? b.rows : b.columns) && "MatMul: c has as many columns as b");
  assert(inner == (op.transpose_b ? b.columns : b.rows) && "MatMul: the inner extents of a and b agree");
  assert((bias.data == nullptr || (bias.size == c.columns && !op.accumulate)) && "MatMul: a bias is one row of c");
  Vectors<T> const rows = rows_of(Matrix<T const>(a), op.transpose_a);
  Vectors<T> const columns = columns_of(b, op.transpose_b);
  // Threads take bands of the longer side: the factor on the other side is read by all of them, this one only once.
  bool const by_rows = c.rows > c.columns;
  int const parts = worthwhile(workspace.threads(), c.rows * c.columns * inner / 16);
  for_each_part(parts, [&](int part) {
    Range const down = by_rows ? part_of(c.rows, part, parts, tile_rows) : Range{0, c.rows};
    Range const across =
        by_rows ? Range{0, c.columns} : part_of(c.columns, part, parts, tile_columns<accumulator_t<T>>);
    if (down.size() > 0 && across.size() > 0) {
      multiply_into(workspace, part, c.row_slice(down.first, down.size()).column_slice(across.first, across.size()),
                    rows.at(down.first, 0), columns.at(across.first, 0), inner, op.accumulate,
                    bias.data == nullptr ? bias.data : bias.data + across.first);
    }
  });
}

} // namespace cleave::detail::cpu
