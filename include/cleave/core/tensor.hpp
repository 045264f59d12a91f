#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace cleave {

/// Sizes, offsets and counts of elements. Signed, so that differences are.
using Index = std::ptrdiff_t;

/// A view of `size` elements in a row. Owns nothing; a null view stands for "not wanted".
///
/// Views may be null while a memory plan is made (see core/arena.hpp), so they move by these functions
/// and never by pointer arithmetic of the caller.
template <typename T>
struct Vector {
  T* data = nullptr;
  Index size = 0;

  [[nodiscard]] constexpr Vector slice(Index first, Index count) const {
    return {data == nullptr ? nullptr : data + first, count};
  }
  constexpr operator Vector<T const>() const
    requires(!std::is_const_v<T>)
  {
    return {data, size};
  }
  constexpr operator std::span<T>() const { return {data, static_cast<std::size_t>(size)}; }
};

/// A row-major view: element (r, c) lies at data[r * stride + c].
template <typename T>
struct Matrix {
  T* data = nullptr;
  Index rows = 0;
  Index columns = 0;
  Index stride = 0;

  constexpr Matrix() = default;
  constexpr Matrix(T* first, Index row_count, Index column_count)
      : Matrix(first, row_count, column_count, column_count) {}
  constexpr Matrix(T* first, Index row_count, Index column_count, Index row_stride)
      : data(first), rows(row_count), columns(column_count), stride(row_stride) {}

  [[nodiscard]] constexpr Matrix row_slice(Index first, Index count) const {
    return {data == nullptr ? nullptr : data + first * stride, count, columns, stride};
  }
  [[nodiscard]] constexpr Matrix column_slice(Index first, Index count) const {
    return {data == nullptr ? nullptr : data + first, rows, count, stride};
  }
  [[nodiscard]] constexpr Vector<T> row(Index r) const {
    return {data == nullptr ? nullptr : data + r * stride, columns};
  }
  /// False for the view that says "not wanted": a layer whose input needs no gradient gets one.
  [[nodiscard]] constexpr bool wanted() const { return rows != 0; }

  constexpr operator Matrix<T const>() const
    requires(!std::is_const_v<T>)
  {
    return {data, rows, columns, stride};
  }
};

/// Token ids, one a row: batch x sequence of them, sequences one after the other.
using Tokens = Vector<std::int32_t const>;

/// A target that counts for nothing: its row adds neither loss, nor weight, nor gradient
/// (PyTorch's ignore_index).
inline constexpr std::int32_t ignored_target = -100;

/// What the rows of an activation are: `batch` sequences of `sequence` positions.
struct Shape {
  Index batch = 1;
  Index sequence = 1;

  [[nodiscard]] constexpr Index rows() const { return batch * sequence; }
  friend constexpr bool operator==(Shape const&, Shape const&) = default;
};

} // namespace cleave
