#pragma once

#include <algorithm>
#include <limits>

#include <cleave/core/tensor.hpp>
#include <cleave/detail/cpu/library_product.hpp>
#include <cleave/detail/cpu/panels.hpp>
#include <cleave/detail/cpu/product.hpp>
#include <cleave/detail/cpu/workspace.hpp>

// OpenBLAS's cblas.h would put a `bfloat16` of its own into the global namespace, where every program that uses
// Cleave's would find two. So what is called is declared here, by the names that the linker knows.
namespace cleave::detail::cpu::openblas {

enum Order : int { by_rows = 101 };
enum Transpose : int { as_stored = 111, transposed = 112 };

void gemm(Order, Transpose of_a, Transpose of_b, int m, int n, int k, float alpha, float const* a, int lda,
          float const* b, int ldb, float beta, float* c, int ldc) __asm__("cblas_sgemm");
void gemm(Order, Transpose of_a, Transpose of_b, int m, int n, int k, double alpha, double const* a, int lda,
          double const* b, int ldb, double beta, double* c, int ldc) __asm__("cblas_dgemm");
void set_threads(int count) __asm__("openblas_set_num_threads");

/// Makes OpenBLAS use one thread for each call, in the whole program: Cleave's own threads call it side by side.
inline void stay_on_one_thread() {
  [[maybe_unused]] static bool const done = (set_threads(1), true);
}

/// Whether OpenBLAS, which counts in int, can count these.
[[nodiscard]] constexpr bool can_count(auto... sizes) {
  return std::max({Index{sizes}...}) <= Index{std::numeric_limits<int>::max()};
}

/// c += a b.
template <typename T>
void multiply_add(Matrix<T> c, Vectors<T> a, Vectors<T> b, Index inner) {
  auto const size = [](Index value) { return static_cast<int>(value); };
  // A single row may have any stride, but OpenBLAS insists that it is no less than the row's length.
  auto const stride = [&](Vectors<T> factor, Index count) {
    return size(std::max(stride_of(factor), side_by_side(factor) ? count : inner));
  };
  gemm(by_rows, side_by_side(a) ? transposed : as_stored, side_by_side(b) ? as_stored : transposed, size(c.rows),
       size(c.columns), size(inner), T{1}, a.data, stride(a, c.rows), b.data, stride(b, c.columns), T{1}, c.data,
       size(std::max(c.stride, c.columns)));
}

} // namespace cleave::detail::cpu::openblas

namespace cleave::detail::cpu {

/// c = start + a b on one thread, by OpenBLAS; by Cleave's own kernel if it is too large for that.
template <typename T, typename From>
void multiply_matrices(Workspace const& workspace, int thread, Matrix<T> c, Start<T> start, Vectors<From> a,
                       Vectors<From> b, Index inner) {
  if (!openblas::can_count(c.rows, c.columns, inner, c.stride, stride_of(a), stride_of(b))) {
    multiply(workspace, thread, c, start, a, b, inner);
    return;
  }
  openblas::stay_on_one_thread();
  multiply_by_library(workspace, thread, c, start, a, b, inner, openblas::multiply_add<T>);
}

} // namespace cleave::detail::cpu
