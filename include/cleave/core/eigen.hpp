#pragma once

#include <type_traits>

#include <Eigen/Core>

#include <cleave/core/tensor.hpp>

// Eigen's view of Cleave's views, for layers whose arithmetic is written in Eigen and for data that lies in Eigen's
// matrices. cleave.hpp does not include this header: Cleave itself needs no Eigen.

namespace cleave {

namespace detail {
/// `Dense`, or a constant one where T is constant.
template <typename T, typename Dense>
using as_constant_as = std::conditional_t<std::is_const_v<T>, Dense const, Dense>;
} // namespace detail

/// What as_eigen makes of a Matrix<T>.
template <typename T>
using EigenMatrix = Eigen::Map<
    detail::as_constant_as<T, Eigen::Matrix<std::remove_const_t<T>, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>,
    Eigen::Unaligned, Eigen::OuterStride<>>;

/// What as_eigen makes of a Vector<T>: a column.
template <typename T>
using EigenVector = Eigen::Map<detail::as_constant_as<T, Eigen::Matrix<std::remove_const_t<T>, Eigen::Dynamic, 1>>>;

/// The same elements as (rows, columns) of Eigen; nothing is copied. For C++'s own number types only: Eigen does not
/// compute with Cleave's bfloat16. Wants memory: a view of a plan, which has none, is only good for its shape.
template <typename T>
  requires std::is_arithmetic_v<T>
[[nodiscard]] EigenMatrix<T> as_eigen(Matrix<T> matrix) {
  return {matrix.data, matrix.rows, matrix.columns, Eigen::OuterStride<>(matrix.stride)};
}

/// The same elements as a column of Eigen's; `.transpose()` makes it a row.
template <typename T>
  requires std::is_arithmetic_v<T>
[[nodiscard]] EigenVector<T> as_eigen(Vector<T> vector) {
  return {vector.data, vector.size};
}

} // namespace cleave
