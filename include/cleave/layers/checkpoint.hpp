#pragma once

#include <cstdint>
#include <type_traits>

#include <cleave/layers/layer.hpp>

namespace cleave {

/// L, keeping only its input: backward runs forward again (activation checkpointing, Chen et al., 2016;
/// torch.utils.checkpoint). Same bits as L.
template <layer L>
struct Checkpoint {
  static constexpr int inputs = L::inputs;
  static constexpr int outputs = L::outputs;
  static constexpr int vocabulary = cleave::vocabulary<L>;
  static constexpr int longest_sequence = cleave::longest_sequence<L>;
  static constexpr bool names_itself = cleave::names_itself<L>;

  template <typename T>
  struct Saved {
    std::conditional_t<(vocabulary > 0), Tokens, Matrix<T const>> input;
    std::uint64_t draws = 0; // random masks drawn before L: recomputation draws the same
  };

  template <typename Visitor>
  static constexpr void describe(Name prefix, Visitor&& visit) {
    cleave::for_each_parameter<L>(prefix, visit);
  }

  template <typename P, typename X>
  static constexpr void forward(P& pass, WeightsOf<P> weights, X x, OutputOf<P> y, Saved<ScalarOf<P>>& saved) {
    saved = {x, pass.draws};
    Index const mark = pass.arena.mark();
    typename L::template Saved<ScalarOf<P>> inner{};
    L::forward(pass, weights, x, y, inner);
    pass.arena.release(mark);
  }

  template <typename P>
  static constexpr void backward(P& pass, WeightsOf<P> weights, GradientsOf<P> gradients,
                                 Saved<ScalarOf<P>> const& saved, InputOf<P> dy, OutputOf<P> dx) {
    Index const mark = pass.arena.mark();
    std::uint64_t const draws = pass.draws;
    pass.draws = saved.draws;
    typename L::template Saved<ScalarOf<P>> inner{};
    L::forward(pass, weights, saved.input, pass.activation(dy.columns), inner);
    pass.draws = draws;
    L::backward(pass, weights, gradients, inner, dy, dx);
    pass.arena.release(mark);
  }
};

} // namespace cleave
