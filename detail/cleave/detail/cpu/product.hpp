#pragma once

#include <algorithm>
#include <cstring>

#include <cleave/core/arena.hpp>
#include <cleave/core/scalar.hpp>
#include <cleave/core/tensor.hpp>
#include <cleave/detail/cpu/lanes.hpp>
#include <cleave/detail/cpu/panels.hpp>
#include <cleave/detail/cpu/workspace.hpp>

namespace cleave::detail::cpu {

// The kernel keeps a tile of the result in registers: so many rows by so many registers. A term then costs one load for
// each of the registers and each of the rows, but rows x registers multiply-adds.
inline constexpr Index tile_rows = registers / 4;
inline constexpr Index tile_registers = 3;
template <typename T>
inline constexpr Index tile_columns = tile_registers* lanes<T>;

/// What a tile of the result starts from: c itself, a row of bias (stride 0), or zero (null).
template <typename T>
struct Start {
  T const* data = nullptr;
  Index stride = 0;

  [[nodiscard]] Start at(Index row, Index column) const {
    return {data == nullptr ? nullptr : data + row * stride + column, stride};
  }
};

/// c = start + sum for a tile that the result's border cuts.
template <typename T>
void store_part(Matrix<T> c, Start<T> start, T const* sum, Index sum_stride) {
  for (Index i = 0; i != c.rows; ++i) {
    T* const to = c.row(i).data;
    for (Index j = 0; j != c.columns; ++j) {
      to[j] = sum[i * sum_stride + j] + (start.data == nullptr ? T{} : *start.at(i, j).data);
    }
  }
}

/// c = start + a b for one tile, from packed panels: `used` registers wide, of which c.columns columns are real.
template <Index used, typename T>
void multiply_tile(Matrix<T> c, Start<T> start, T const* a, T const* b, Index depth) {
  using V = lanes_of<T>;
  // All loops over `sum` have fixed ends and are unrolled: only so does the compiler keep it in registers.
  V sum[tile_rows][used] = {};
  for (Index i = 0; i != c.rows; ++i) {
    for (Index v = 0; v != used; ++v) {
      __builtin_prefetch(c.data + i * c.stride + v * lanes<T>, 1);
    }
  }
  for (Index k = 0; k != depth; ++k) {
    V right[used];
#pragma GCC unroll 3
    for (Index v = 0; v != used; ++v) {
      std::memcpy(&right[v], b + k * tile_columns<T> + v * lanes<T>, sizeof(V));
    }
#pragma GCC unroll 8
    for (Index i = 0; i != tile_rows; ++i) {
#pragma GCC unroll 3
      for (Index v = 0; v != used; ++v) {
        sum[i][v] += a[k * tile_rows + i] * right[v];
      }
    }
  }
  if (c.rows != tile_rows || c.columns != used * lanes<T>) {
    T values[tile_rows * used * lanes<T>];
    std::memcpy(values, sum, sizeof(values));
    store_part(c, start, values, used * lanes<T>);
    return;
  }
#pragma GCC unroll 8
  for (Index i = 0; i != tile_rows; ++i) {
#pragma GCC unroll 3
    for (Index v = 0; v != used; ++v) {
      if (start.data != nullptr) {
        V before;
        std::memcpy(&before, start.data + i * start.stride + v * lanes<T>, sizeof(before));
        sum[i][v] += before;
      }
      std::memcpy(c.data + i * c.stride + v * lanes<T>, &sum[i][v], sizeof(V));
    }
  }
}

/// One tile by the kernel that is as wide as its columns need.
template <typename T>
void multiply_tile(Matrix<T> c, Start<T> start, T const* a, T const* b, Index depth) {
  Index const used = (c.columns + lanes<T> - 1) / lanes<T>;
  if (used == 3) {
    multiply_tile<3>(c, start, a, b, depth);
  } else if (used == 2) {
    multiply_tile<2>(c, start, a, b, depth);
  } else {
    multiply_tile<1>(c, start, a, b, depth);
  }
}

/// All tiles of a block whose factors are packed. A panel of a (some KB) stays in the first-level cache while the
/// panels of b pass by, which lie in the second-level one.
template <typename T>
void multiply_packed(Matrix<T> c, Start<T> start, T const* a, T const* b, Index depth) {
  for (Index i = 0; i < c.rows; i += tile_rows) {
    Matrix<T> const rows = c.row_slice(i, std::min(tile_rows, c.rows - i));
    for (Index j = 0; j < c.columns; j += tile_columns<T>) {
      Matrix<T> const tile = rows.column_slice(j, std::min(tile_columns<T>, c.columns - j));
      multiply_tile(tile, start.at(i, j), a + i * depth, b + j * depth, depth);
    }
  }
}

/// `size` cut into equal blocks of at most `most`, each (but the last) a multiple of `multiple`, which divides `most`.
[[nodiscard]] constexpr Index even_block(Index size, Index most, Index multiple) {
  Index const blocks = (size + most - 1) / most;
  return blocks == 0 ? multiple : round_up((size + blocks - 1) / blocks, multiple);
}

/// c = start + a b on one thread (Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008).
/// Factors of a narrower type are widened as they are packed.
template <typename T, typename Left, typename Right>
void multiply(Workspace const& workspace, int thread, Matrix<T> c, Start<T> start, Vectors<Left> a, Vectors<Right> b,
              Index inner) {
  constexpr Index depth = 1024 / static_cast<Index>(sizeof(T));
  constexpr Index most_rows = Workspace::left_bytes / 1024;
  constexpr Index most_columns = Workspace::right_bytes / 1024;
  static_assert(most_rows % tile_rows == 0 && most_columns % tile_columns<T> == 0);
  Index const terms = even_block(inner, depth, 8);
  Index const height = even_block(c.rows, most_rows, tile_rows);
  Index const width = even_block(c.columns, most_columns, tile_columns<T>);
  T* const left = workspace.left<T>(thread).data();
  T* const right = workspace.right<T>(thread).data();
  for (Index k = 0; k < std::max<Index>(inner, 1); k += terms) {
    Index const count = std::min(terms, inner - k);
    Start<T> const from = k == 0 ? start : Start<T>{c.data, c.stride};
    for (Index i = 0; i < c.rows; i += height) {
      Matrix<T> const rows = c.row_slice(i, std::min(height, c.rows - i));
      pack<tile_rows>(left, a.at(i, k), rows.rows, count);
      for (Index j = 0; j < c.columns; j += width) {
        Matrix<T> const block = rows.column_slice(j, std::min(width, c.columns - j));
        pack<tile_columns<T>>(right, b.at(j, k), block.columns, count);
        multiply_packed(block, from.at(i, j), left, right, count);
      }
    }
  }
}

} // namespace cleave::detail::cpu
