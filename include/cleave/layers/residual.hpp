#pragma once

#include <cleave/detail/type_list.hpp>
#include <cleave/layers/layer.hpp>

namespace cleave {
namespace detail {

template <int Inputs, int Outputs>
struct check_residual {
  static_assert(Inputs == Outputs, "cleave::Residual<L>: L returns another number of features than it takes (see "
                                   "check_residual<inputs, outputs>), so x cannot be added. Give it equal widths.");
};

} // namespace detail

/// y = x + L(x): (rows, n) -> (rows, n). (He et al., 2015.)
template <layer L>
struct Residual {
  static_assert(detail::looked_at<detail::check_residual<L::inputs, L::outputs>>);

  static constexpr int inputs = L::inputs;
  static constexpr int outputs = L::outputs;
  static constexpr int longest_sequence = cleave::longest_sequence<L>;
  static constexpr bool names_itself = cleave::names_itself<L>;

  template <typename T>
  struct Saved {
    typename L::template Saved<T> inner;
  };

  template <typename Visitor>
  static constexpr void describe(Name prefix, Visitor&& visit) {
    cleave::for_each_parameter<L>(prefix, visit);
  }

  template <typename P>
  static constexpr void forward(P& pass, WeightsOf<P> weights, InputOf<P> x, OutputOf<P> y, Saved<ScalarOf<P>>& saved) {
    // L writes to y, to which x is added in place, unless backward of L needs L's own output.
    OutputOf<P> const inner = saves_output<L> ? pass.activation(y.columns) : y;
    L::forward(pass, weights, x, inner, saved.inner);
    pass.run(op::Add{}, y, InputOf<P>(inner), x);
  }

  template <typename P>
  static constexpr void backward(P& pass, WeightsOf<P> weights, GradientsOf<P> gradients,
                                 Saved<ScalarOf<P>> const& saved, InputOf<P> dy, OutputOf<P> dx) {
    L::backward(pass, weights, gradients, saved.inner, dy, dx);
    if (dx.wanted()) {
      pass.run(op::Add{}, dx, InputOf<P>(dx), dy);
    }
  }
};

} // namespace cleave
