#pragma once

#include <cleave/core/tensor.hpp>
#include <cleave/detail/cpu/panels.hpp>
#include <cleave/detail/cpu/product.hpp>
#include <cleave/detail/cpu/workspace.hpp>

namespace cleave::detail::cpu {

/// c = start + a b on one thread, by Cleave's own kernel.
template <typename T, typename From>
void multiply_matrices(Workspace const& workspace, int thread, Matrix<T> c, Start<T> start, Vectors<From> a,
                       Vectors<From> b, Index inner) {
  multiply(workspace, thread, c, start, a, b, inner);
}

} // namespace cleave::detail::cpu
