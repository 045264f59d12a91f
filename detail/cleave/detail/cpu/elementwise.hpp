#pragma once

#include <algorithm>
#include <cassert>
#include <numbers>

#include <cleave/detail/cpu/block.hpp>
#include <cleave/detail/cpu/functions.hpp>
#include <cleave/detail/cpu/parallel.hpp>
#include <cleave/detail/cpu/workspace.hpp>
#include <cleave/device/operations.hpp>

namespace cleave::detail::cpu {

template <typename A, typename B>
constexpr bool same_shape(Matrix<A> a, Matrix<B> b) {
  return a.rows == b.rows && a.columns == b.columns;
}
template <typename... Views>
constexpr bool contiguous(Views... views) {
  return ((views.stride == views.columns) && ...);
}

// What each function is (`value`) and its derivative (`slope`), in the accumulator type.
template <op::Elementwise F>
struct Function;

/// x / 2 (1 + tanh u) = x logistic(2 u), with u = sqrt(2 / pi) (x + 0.044715 x^3) (Hendrycks and Gimpel, 2016).
template <>
struct Function<op::Elementwise::gelu_tanh> {
  static constexpr double factor = 2 * std::numbers::inv_sqrtpi * std::numbers::sqrt2;

  template <typename A>
  static A value(A x) {
    return x * logistic(A(factor) * (x + A(0.044715) * x * x * x));
  }
  template <typename A>
  static A slope(A x) {
    auto const s = sigmoid(A(factor) * (x + A(0.044715) * x * x * x));
    return s.value + x * s.slope * A(factor) * (A{1} + A(3 * 0.044715) * x * x);
  }
};

/// x times the probability that a standard normal variable is below x.
template <>
struct Function<op::Elementwise::gelu_exact> {
  template <typename A>
  static A value(A x) {
    return x * normal_distribution(x);
  }
  template <typename A>
  static A slope(A x) {
    constexpr double peak = std::numbers::inv_sqrtpi / std::numbers::sqrt2;
    return normal_distribution(x) + x * A(peak) * exponential(A{-0.5} * x * x);
  }
};

template <>
struct Function<op::Elementwise::relu> {
  template <typename A>
  static A value(A x) {
    return x < A{0} ? A{0} : x;
  }
  template <typename A>
  static A slope(A x) {
    return x > A{0} ? A{1} : A{0};
  }
};

template <>
struct Function<op::Elementwise::silu> {
  template <typename A>
  static A value(A x) {
    return x * logistic(x);
  }
  template <typename A>
  static A slope(A x) {
    auto const s = sigmoid(x);
    return s.value + x * s.slope;
  }
};

template <>
struct Function<op::Elementwise::tanh> {
  template <typename A>
  static A value(A x) {
    return hyperbolic_tangent(x);
  }
  template <typename A>
  static A slope(A x) {
    A const y = hyperbolic_tangent(x);
    return A{1} - y * y;
  }
};

template <>
struct Function<op::Elementwise::sigmoid> {
  template <typename A>
  static A value(A x) {
    return logistic(x);
  }
  template <typename A>
  static A slope(A x) {
    return sigmoid(x).slope;
  }
};

template <op::Elementwise F, typename T>
void apply(Workspace& workspace, op::Activation<F> const&, Matrix<T> y, Given<Matrix<T const>> x) {
  assert(same_shape(y, x) && "Activation: y is shaped as x");
  for_each_run(workspace.threads(), y.rows, y.columns, contiguous(y, x), [&](Index r, Index first, Index last) {
    transform(y.data + r * y.stride + first, x.data + r * x.stride + first, last - first,
              [](auto value) { return Function<F>::value(value); });
  });
}

template <op::Elementwise F, typename T>
void apply(Workspace& workspace, op::ActivationGradient<F> const&, Matrix<T> dx, Given<Matrix<T const>> dy,
           Given<Matrix<T const>> x) {
  assert(same_shape(dx, dy) && same_shape(dx, x) && "ActivationGradient: dx and dy are shaped as x");
  for_each_run(workspace.threads(), dx.rows, dx.columns, contiguous(dx, dy, x), [&](Index r, Index first, Index last) {
    transform(dx.data + r * dx.stride + first, dy.data + r * dy.stride + first, x.data + r * x.stride + first,
              last - first, [](auto gradient, auto value) { return gradient * Function<F>::slope(value); });
  });
}

template <typename T>
void apply(Workspace& workspace, op::Add const&, Matrix<T> y, Given<Matrix<T const>> a, Given<Matrix<T const>> b) {
  assert(same_shape(y, a) && same_shape(y, b) && "Add: y, a and b have one shape");
  for_each_run(workspace.threads(), y.rows, y.columns, contiguous(y, a, b), [&](Index r, Index first, Index last) {
    transform(y.data + r * y.stride + first, a.data + r * a.stride + first, b.data + r * b.stride + first, last - first,
              [](auto left, auto right) { return left + right; });
  });
}

template <typename T>
void apply(Workspace& workspace, op::Copy const&, Matrix<T> y, Given<Matrix<T const>> x) {
  assert(same_shape(y, x) && "Copy: y is shaped as x");
  for_each_run(workspace.threads(), y.rows, y.columns, contiguous(y, x), [&](Index r, Index first, Index last) {
    std::copy_n(x.data + r * x.stride + first, last - first, y.data + r * y.stride + first);
  });
}

template <typename To, typename From>
void apply(Workspace& workspace, op::Cast const&, Vector<To> y, Vector<From> x) {
  assert(y.size == x.size && "Cast: y has as many elements as x");
  for_each_range(workspace.threads(), y.size, block_size, y.size, [&](Index first, Index last) {
    for (Index i = first; i != last; ++i) {
      y.data[i] = convert<To>(x.data[i]);
    }
  });
}

template <typename T>
void apply(Workspace& workspace, op::Fill const& op, Vector<T> y) {
  for_each_range(workspace.threads(), y.size, block_size, y.size,
                 [&](Index first, Index last) { std::fill(y.data + first, y.data + last, convert<T>(op.value)); });
}

} // namespace cleave::detail::cpu
