#pragma once

#include <algorithm>

#include <Eigen/Core>

#include <cleave/core/tensor.hpp>
#include <cleave/detail/cpu/library_product.hpp>
#include <cleave/detail/cpu/panels.hpp>
#include <cleave/detail/cpu/product.hpp>
#include <cleave/detail/cpu/workspace.hpp>

namespace cleave::detail::cpu {

/// Where Eigen packs blocks of the factors, and how large they are. Its public products allocate these areas.
template <typename T>
class EigenBlocking : public Eigen::internal::level3_blocking<T, T> {
public:
  EigenBlocking(Workspace const& workspace, int thread, Index rows, Index columns, Index depth) {
    auto const left = workspace.left<T>(thread);
    auto const right = workspace.right<T>(thread);
    this->m_blockA = left.data();
    this->m_blockB = right.data();
    // Few and equal blocks of the inner extent, because each goes through all of the result once.
    Index const blocks = (depth + most_depth - 1) / most_depth;
    this->m_kc = (depth + blocks - 1) / blocks;
    this->m_mc = std::min(rows, whole(static_cast<Index>(left.size()) / 2 / this->m_kc, 48));
    this->m_nc = std::min(columns, whole(static_cast<Index>(right.size()) / this->m_kc, 4));
  }

private:
  static constexpr Index most_depth = 1536 / static_cast<Index>(sizeof(T));
  static constexpr Index whole(Index size, Index multiple) { return size / multiple * multiple; }
};

/// c += a b. Eigen's kernel writes by columns, so it computes the transpose: c' = b' a'.
template <int left_order, int right_order, typename T>
void multiply_by_eigen(EigenBlocking<T>& blocking, Matrix<T> c, Vectors<T> a, Vectors<T> b, Index inner) {
  using Product = Eigen::internal::general_matrix_matrix_product<Index, T, left_order, false, T, right_order, false,
                                                                 Eigen::ColMajor, 1>;
  Product::run(c.columns, c.rows, inner, b.data, stride_of(b), a.data, stride_of(a), c.data, 1, c.stride, T{1},
               blocking, nullptr);
}

template <typename T>
void multiply_by_eigen(Workspace const& workspace, int thread, Matrix<T> c, Vectors<T> a, Vectors<T> b, Index inner) {
  constexpr int by_rows = Eigen::RowMajor;
  constexpr int by_columns = Eigen::ColMajor;
  EigenBlocking<T> blocking(workspace, thread, c.columns, c.rows, inner);
  if (side_by_side(a)) {
    side_by_side(b) ? multiply_by_eigen<by_columns, by_rows>(blocking, c, a, b, inner)
                    : multiply_by_eigen<by_rows, by_rows>(blocking, c, a, b, inner);
  } else {
    side_by_side(b) ? multiply_by_eigen<by_columns, by_columns>(blocking, c, a, b, inner)
                    : multiply_by_eigen<by_rows, by_columns>(blocking, c, a, b, inner);
  }
}

/// c = start + a b on one thread, by Eigen's kernel; allocates nothing.
template <typename T, typename From>
void multiply_matrices(Workspace const& workspace, int thread, Matrix<T> c, Start<T> start, Vectors<From> a,
                       Vectors<From> b, Index inner) {
  multiply_by_library(workspace, thread, c, start, a, b, inner,
                      [&](Matrix<T> sum, Vectors<T> left, Vectors<T> right, Index depth) {
                        multiply_by_eigen(workspace, thread, sum, left, right, depth);
                      });
}

} // namespace cleave::detail::cpu
