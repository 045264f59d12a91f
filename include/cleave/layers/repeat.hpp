#pragma once

#include <array>
#include <cstddef>

#include <cleave/detail/type_list.hpp>
#include <cleave/layers/layer.hpp>

namespace cleave {
namespace detail {

template <int Inputs, int Outputs>
struct check_repeat {
  static_assert(Inputs == Outputs, "cleave::Repeat<N, L>: L returns another number of features than it takes (see "
                                   "check_repeat<inputs, outputs>), so it cannot follow itself. Give it equal widths.");
};

} // namespace detail

/// N layers of one kind, each with weights of its own, called "0", "1", ... L is instantiated once, however large N is.
///
/// In the pack of a ShardedModule, or in a model's list, a Repeat is N units.
template <int N, layer L>
struct Repeat {
  static_assert(N > 0, "cleave::Repeat<N, L>: N is not positive. Repeat the layer at least once.");
  static_assert(detail::looked_at<detail::check_repeat<L::inputs, L::outputs>>);

  static constexpr int inputs = L::inputs;
  static constexpr int outputs = L::outputs;
  static constexpr int longest_sequence = cleave::longest_sequence<L>;
  static constexpr bool saves_output = cleave::saves_output<L>;

  template <typename T>
  struct Saved {
    std::array<typename L::template Saved<T>, N> inner;
    std::array<Matrix<T>, N> outputs; // the last is not used: it is the caller's y
  };

  template <typename Visitor>
  static constexpr void describe(Name prefix, Visitor&& visit) {
    for (int i = 0; i != N; ++i) {
      cleave::for_each_parameter<L>(prefix.then(i), visit);
    }
  }

  template <typename P>
  static constexpr void forward(P& pass, WeightsOf<P> weights, InputOf<P> x, OutputOf<P> y, Saved<ScalarOf<P>>& saved) {
    for (std::size_t i = 0; i != N; ++i) {
      OutputOf<P> const out = i + 1 == N ? y : pass.activation(x.columns);
      L::forward(pass, weights.skip(first_slot(i)), x, out, saved.inner[i]);
      saved.outputs[i] = out;
      x = out;
    }
  }

  template <typename P>
  static constexpr void backward(P& pass, WeightsOf<P> weights, GradientsOf<P> gradients,
                                 Saved<ScalarOf<P>> const& saved, InputOf<P> dy, OutputOf<P> dx) {
    Index const mark = pass.arena.mark();
    std::array const between{pass.activation(N > 1 ? dy.columns : 0), pass.activation(N > 2 ? dy.columns : 0)};
    for (std::size_t i = N; i-- != 0;) {
      OutputOf<P> const out = i == 0 ? dx : between[(i - 1) % 2];
      L::backward(pass, weights.skip(first_slot(i)), gradients.skip(first_slot(i)), saved.inner[i], dy, out);
      dy = out;
    }
    pass.arena.release(mark);
  }

private:
  static constexpr int first_slot(std::size_t i) { return static_cast<int>(i) * parameter_count<L>; }
};

} // namespace cleave
