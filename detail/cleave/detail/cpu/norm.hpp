#pragma once

#include <cassert>
#include <cmath>

#include <cleave/detail/cpu/block.hpp>
#include <cleave/detail/cpu/elementwise.hpp>
#include <cleave/detail/cpu/parallel.hpp>
#include <cleave/detail/cpu/sums.hpp>
#include <cleave/detail/cpu/workspace.hpp>
#include <cleave/device/operations.hpp>

namespace cleave::detail::cpu {

template <typename A>
struct Moments {
  A mean;
  A rstd;
};

/// In two passes, because the difference of two large sums would lose the variance.
template <typename T, typename A = accumulator_t<T>>
[[nodiscard]] Moments<A> moments_of(T const* x, Index n, double epsilon) {
  A const count = static_cast<A>(n);
  A const mean = sum_of<A>(n, [x](Index i) { return convert<A>(x[i]); }) / count;
  A const squares = sum_of<A>(n, [x, mean](Index i) {
    A const difference = convert<A>(x[i]) - mean;
    return difference * difference;
  });
  return {mean, A{1} / std::sqrt(squares / count + static_cast<A>(epsilon))};
}

template <typename T>
void normalise(T* __restrict y, T const* __restrict x, Moments<accumulator_t<T>> moments, T const* __restrict gain,
               T const* __restrict bias, Index n) {
  using A = accumulator_t<T>;
  for (Index i = 0; i != n; ++i) {
    A const normal = (convert<A>(x[i]) - moments.mean) * moments.rstd;
    y[i] = convert<T>(normal * convert<A>(gain[i]) + convert<A>(bias[i]));
  }
}

template <typename T, typename A = accumulator_t<T>>
void apply(Workspace& workspace, op::LayerNorm const& op, Matrix<T> y, Given<Vector<A>> mean, Given<Vector<A>> rstd,
           Given<Matrix<T const>> x, Given<Vector<T const>> gain, Given<Vector<T const>> bias) {
  assert(same_shape(y, x) && gain.size == x.columns && bias.size == x.columns &&
         "LayerNorm: a gain and bias for each column");
  assert(mean.size == x.rows && rstd.size == x.rows && "LayerNorm: a mean and rstd for each row");
  for_each_range(workspace.threads(), x.rows, 1, x.rows * x.columns, [&](Index first, Index last) {
    for (Index r = first; r != last; ++r) {
      auto const moments = moments_of(x.row(r).data, x.columns, op.epsilon);
      mean.data[r] = moments.mean;
      rstd.data[r] = moments.rstd;
      normalise(y.row(r).data, x.row(r).data, moments, gain.data, bias.data, x.columns);
    }
  });
}

/// With n = (x - mean) rstd and d = dy gain: dx = rstd (d - mean(d) - n mean(d n)).
template <typename T>
void normalise_gradient(T* dx, T const* dy, T const* x, Moments<accumulator_t<T>> moments, T const* gain, Index n) {
  using A = accumulator_t<T>;
  auto const normal = [&](Index i) { return (convert<A>(x[i]) - moments.mean) * moments.rstd; };
  auto const scaled = [&](Index i) { return convert<A>(dy[i]) * convert<A>(gain[i]); };
  A const count = static_cast<A>(n);
  A const mean = sum_of<A>(n, scaled) / count;
  A const slope = sum_of<A>(n, [&](Index i) { return scaled(i) * normal(i); }) / count;
  for (Index i = 0; i != n; ++i) {
    dx[i] = convert<T>(moments.rstd * (scaled(i) - mean - normal(i) * slope));
  }
}

template <typename T, typename G, typename A = accumulator_t<T>>
void apply(Workspace& workspace, op::LayerNormGradient const&, Matrix<T> dx, Vector<G> dgain, Given<Vector<G>> dbias,
           Given<Matrix<T const>> dy, Given<Matrix<T const>> x, Given<Vector<A const>> mean,
           Given<Vector<A const>> rstd, Given<Vector<T const>> gain) {
  assert(same_shape(dy, x) && (!dx.wanted() || same_shape(dx, x)) && "LayerNormGradient: dx and dy are shaped as x");
  // The columns first: dx may lie where dy does.
  for_each_range(workspace.threads(), x.columns, block_size, x.rows * x.columns, [&](Index first, Index last) {
    add_column_sums(dgain.data, x.rows, first, last, [&](Index r, Index c) {
      return convert<A>(dy.data[r * dy.stride + c]) *
             ((convert<A>(x.data[r * x.stride + c]) - mean.data[r]) * rstd.data[r]);
    });
    add_column_sums(dbias.data, x.rows, first, last,
                    [&](Index r, Index c) { return convert<A>(dy.data[r * dy.stride + c]); });
  });
  if (!dx.wanted()) {
    return;
  }
  for_each_range(workspace.threads(), x.rows, 1, x.rows * x.columns, [&](Index first, Index last) {
    for (Index r = first; r != last; ++r) {
      Moments<A> const moments{mean.data[r], rstd.data[r]};
      normalise_gradient(dx.row(r).data, dy.row(r).data, x.row(r).data, moments, gain.data, x.columns);
    }
  });
}

} // namespace cleave::detail::cpu
