#pragma once

#include <algorithm>
#include <type_traits>

#include <cleave/core/scalar.hpp>
#include <cleave/core/tensor.hpp>

namespace cleave::detail::cpu {

/// A parameter that follows from another one, so that Matrix<T> is taken where Matrix<T const> is asked for.
template <typename View>
using Given = std::type_identity_t<View>;

/// Loops work through blocks of this many elements: compilers turn an inner loop of fixed length into vector
/// instructions.
inline constexpr Index block_size = 64;

template <typename To, typename From>
[[nodiscard]] constexpr To convert(From value) {
  if constexpr (std::is_same_v<To, bfloat16>) {
    return bfloat16{static_cast<float>(value)};
  } else {
    return static_cast<To>(value);
  }
}

template <typename To, typename From>
void convert_rows(Matrix<To> to, Matrix<From> from) {
  for (Index r = 0; r != to.rows; ++r) {
    std::transform(from.row(r).data, from.row(r).data + to.columns, to.row(r).data,
                   [](From value) { return convert<To>(value); });
  }
}

/// y[i] = f(x[i]...) for so many blocks, computed in the accumulator type. All elements of all calls pass through this
/// one function, compiled once, so that none is rounded in another way because it stands at the end of a row.
template <typename T, typename F, typename... X>
[[gnu::noinline]] void transform_blocks(Index blocks, F const& f, T* y, X const*... x) {
  using A = accumulator_t<T>;
  for (Index i = 0; i != blocks * block_size; i += block_size) {
    A value[block_size]; // apart from y and x, which the compiler must take for overlapping
    for (Index j = 0; j != block_size; ++j) {
      value[j] = f(convert<A>(x[i + j])...);
    }
    for (Index j = 0; j != block_size; ++j) {
      y[i + j] = convert<T>(value[j]);
    }
  }
}

/// The same for n elements. What does not fill a block is computed in one that is filled up with zeros.
template <typename T, typename F, typename... X>
void transform_all(Index n, F const& f, T* y, X const*... x) {
  Index const done = n / block_size * block_size;
  if (done != 0) {
    transform_blocks(done / block_size, f, y, x...);
  }
  if (done != n) {
    auto const filled = [=](T const* from, T(&&rest)[block_size]) -> T const* {
      std::copy_n(from + done, n - done, rest);
      return rest;
    };
    T result[block_size];
    transform_blocks(1, f, result, filled(x, {})...);
    std::copy_n(result, n - done, y + done);
  }
}

/// y[i] = f(x[i]), computed in the accumulator type; y may be x.
template <typename T, typename F>
void transform(T* y, T const* x, Index n, F const& f) {
  transform_all(n, f, y, x);
}
/// y[i] = f(a[i], b[i]), computed in the accumulator type; y may be a or b.
template <typename T, typename F>
void transform(T* y, T const* a, T const* b, Index n, F const& f) {
  transform_all(n, f, y, a, b);
}

/// What pairwise f leaves of a block.
template <typename A, typename F>
[[nodiscard]] A fold(A (&lane)[block_size], F const& f) {
  for (Index half = block_size / 2; half != 0; half /= 2) {
    for (Index j = 0; j != half; ++j) {
      lane[j] = f(lane[j], lane[j + half]);
    }
  }
  return lane[0];
}

/// Adds up f(0) .. f(n - 1) in 64 sums side by side, then those pairwise: quick, more exact than one
/// sum, and always in the same order.
template <typename A, typename F>
[[nodiscard]] A sum_of(Index n, F const& f) {
  A lane[block_size] = {};
  Index i = 0;
  for (; i + block_size <= n; i += block_size) {
    for (Index j = 0; j != block_size; ++j) {
      lane[j] += f(i + j);
    }
  }
  for (Index j = 0; i + j != n; ++j) {
    lane[j] += f(i + j);
  }
  return fold(lane, [](A a, A b) { return a + b; });
}

/// The largest of x, or `least`.
template <typename T, typename A>
[[nodiscard]] A maximum_of(T const* x, Index n, A least) {
  A lane[block_size];
  std::fill_n(lane, block_size, least);
  auto const larger = [](A a, A b) { return b > a ? b : a; };
  Index i = 0;
  for (; i + block_size <= n; i += block_size) {
    for (Index j = 0; j != block_size; ++j) {
      lane[j] = larger(lane[j], convert<A>(x[i + j]));
    }
  }
  for (Index j = 0; i + j != n; ++j) {
    lane[j] = larger(lane[j], convert<A>(x[i + j]));
  }
  return fold(lane, larger);
}

} // namespace cleave::detail::cpu
