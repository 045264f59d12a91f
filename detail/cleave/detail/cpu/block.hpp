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
/// instructions, and the result of an element does not depend on where in its row it stands.
inline constexpr Index block_size = 64;

template <typename To, typename From>
[[nodiscard]] constexpr To convert(From value) {
  if constexpr (std::is_same_v<To, bfloat16>) {
    return bfloat16{static_cast<float>(value)};
  } else {
    return static_cast<To>(value);
  }
}

/// y[i] = f(x[i]) for `count` elements, computed in the accumulator type; y may be x.
template <Index count, typename T, typename F>
void transform_block(T* y, T const* x, F const& f) {
  using A = accumulator_t<T>;
  A value[count]; // apart from y and x, which the compiler must take for overlapping
  for (Index j = 0; j != count; ++j) {
    value[j] = f(convert<A>(x[j]));
  }
  for (Index j = 0; j != count; ++j) {
    y[j] = convert<T>(value[j]);
  }
}
template <Index count, typename T, typename F>
void transform_block(T* y, T const* a, T const* b, F const& f) {
  using A = accumulator_t<T>;
  A value[count];
  for (Index j = 0; j != count; ++j) {
    value[j] = f(convert<A>(a[j]), convert<A>(b[j]));
  }
  for (Index j = 0; j != count; ++j) {
    y[j] = convert<T>(value[j]);
  }
}

/// y[i] = f(x[i]...) for n elements, with one x or two. What does not fill a block is computed in one that is filled up
/// with zeros.
template <typename T, typename F, typename... X>
void transform_blocks(Index n, F const& f, T* y, X const*... x) {
  constexpr Index part = block_size / 4;
  Index i = 0;
  for (; i + block_size <= n; i += block_size) {
    transform_block<block_size>(y + i, (x + i)..., f);
  }
  for (; i + part <= n; i += part) {
    transform_block<part>(y + i, (x + i)..., f);
  }
  if (i != n) {
    auto const filled = [&](T const* from, T(&&rest)[part]) -> T const* {
      std::copy_n(from + i, n - i, rest);
      return rest;
    };
    T result[part];
    transform_block<part>(result, filled(x, {})..., f);
    std::copy_n(result, n - i, y + i);
  }
}

/// y[i] = f(x[i]), computed in the accumulator type; y may be x.
template <typename T, typename F>
void transform(T* y, T const* x, Index n, F const& f) {
  transform_blocks(n, f, y, x);
}
/// y[i] = f(a[i], b[i]), computed in the accumulator type; y may be a or b.
template <typename T, typename F>
void transform(T* y, T const* a, T const* b, Index n, F const& f) {
  transform_blocks(n, f, y, a, b);
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
