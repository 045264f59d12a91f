#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <limits>

#include <cleave/detail/cpu/block.hpp>
#include <cleave/detail/cpu/elementwise.hpp>
#include <cleave/detail/cpu/functions.hpp>
#include <cleave/detail/cpu/sums.hpp>
#include <cleave/detail/cpu/workspace.hpp>
#include <cleave/device/operations.hpp>

namespace cleave::detail::cpu {

/// log(sum of exp(x)), taken relative to the largest so that nothing overflows. Long rows are added up in double.
template <typename T>
[[nodiscard]] double log_sum_exp(T const* x, Index n) {
  using A = accumulator_t<T>;
  constexpr Index chunk = 4096;
  A const top = maximum_of(x, n, -std::numeric_limits<A>::infinity());
  double sum = 0;
  for (Index start = 0; start < n; start += chunk) {
    T const* const first = x + start;
    sum += static_cast<double>(
        sum_of<A>(std::min(chunk, n - start), [&](Index i) { return exponential(convert<A>(first[i]) - top); }));
  }
  return static_cast<double>(top) + std::log(sum);
}

/// The loss of a row of logits, which become their gradient if asked.
template <typename T>
[[nodiscard]] double cross_entropy_row(T* x, Index n, std::int32_t target, op::CrossEntropy const& op) {
  using A = accumulator_t<T>;
  if (target == ignored_target) {
    if (op.gradient) {
      std::fill_n(x, n, T{});
    }
    return 0;
  }
  assert(target >= 0 && target < n && "CrossEntropy: a target beyond the classes");
  A const chosen = convert<A>(x[target]);
  double const log_sum = log_sum_exp(x, n);
  if (op.gradient) {
    A const shift = static_cast<A>(log_sum);
    A const scale = static_cast<A>(op.scale);
    transform(x, x, n, [=](A value) { return exponential(value - shift) * scale; });
    x[target] = convert<T>((exponential(chosen - shift) - A{1}) * scale);
  }
  return log_sum - static_cast<double>(chosen);
}

template <typename T>
void apply(Workspace& workspace, op::CrossEntropy const& op, double* loss, Matrix<T> logits,
           Vector<std::int32_t const> targets) {
  assert(logits.rows == targets.size && "CrossEntropy: a target for each row");
  *loss += ordered_sum(workspace, logits.rows, logits.columns, [&](Index r) {
    return cross_entropy_row(logits.row(r).data, logits.columns, targets.data[r], op);
  });
}

template <typename T>
void apply(Workspace& workspace, op::SquaredError const& op, double* loss, Matrix<T> dy, Given<Matrix<T const>> y,
           Given<Matrix<T const>> targets) {
  using A = accumulator_t<T>;
  assert(same_shape(y, targets) && (!dy.wanted() || same_shape(dy, y)) && "SquaredError: a target for each element");
  A const scale = static_cast<A>(2 * op.scale);
  *loss += ordered_sum(workspace, y.rows, y.columns, [&](Index r) {
    T const* const a = y.row(r).data;
    T const* const b = targets.row(r).data;
    double const sum = sum_of<double>(y.columns, [=](Index i) {
      double const difference = convert<double>(a[i]) - convert<double>(b[i]);
      return difference * difference;
    });
    if (dy.wanted()) {
      transform(dy.row(r).data, a, b, y.columns, [scale](A value, A target) { return (value - target) * scale; });
    }
    return sum;
  });
}

} // namespace cleave::detail::cpu
