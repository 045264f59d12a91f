#pragma once

#include <array>

#include <cleave/layers/layer.hpp>
#include <cleave/layers/linear.hpp>
#include <cleave/layers/named.hpp>
#include <cleave/layers/sequential.hpp>

namespace cleave {
namespace detail {

template <int Width, int Heads>
struct check_heads {
  static_assert(Heads > 0 && Width % Heads == 0,
                "cleave::CausalAttention<Width, Heads>: the width does not divide into heads (see "
                "check_heads<width, heads>). Make it a multiple.");
};

} // namespace detail

/// softmax(q k^T / sqrt(head width), causal) v for each head: (rows, 3 Width) -> (rows, Width), where a row holds
/// queries, keys and values (Vaswani et al., 2017; torch's scaled_dot_product_attention with is_causal).
///
/// Never stores a sequence x sequence matrix: keys are walked in blocks with a running softmax (FlashAttention, Dao et
/// al., 2022).
template <int Width, int Heads>
struct CausalAttention {
  static_assert(detail::looked_at<detail::check_heads<Width, Heads>>);

  static constexpr int inputs = 3 * Width;
  static constexpr int outputs = Width;
  static constexpr bool saves_output = true;
  static constexpr std::array<Parameter, 0> parameters{};

  template <typename T>
  struct Saved {
    Matrix<T const> input;            // (rows, 3 Width)
    Matrix<T const> output;           // (rows, Width)
    Matrix<accumulator_t<T>> log_sum; // (rows, Heads)
  };

  template <typename P>
  static constexpr void forward(P& pass, WeightsOf<P>, InputOf<P> x, OutputOf<P> y, Saved<ScalarOf<P>>& saved) {
    saved = {x, y, pass.arena.template matrix<typename P::Statistic>(pass.rows(), Heads)};
    pass.run(op::CausalAttention{pass.shape.sequence, Heads}, y, saved.log_sum, x);
  }

  template <typename P>
  static constexpr void backward(P& pass, WeightsOf<P>, GradientsOf<P>, Saved<ScalarOf<P>> const& saved, InputOf<P> dy,
                                 OutputOf<P> dx) {
    if (dx.wanted()) {
      pass.run(op::CausalAttentionGradient{pass.shape.sequence, Heads}, dx, dy, saved.output,
               Matrix<typename P::Statistic const>(saved.log_sum), saved.input);
    }
  }
};

static_assert(layer<CausalAttention<4, 2>>);

/// Multi-head causal self-attention with its two projections: (rows, Width) -> (rows, Width). Names and shapes are
/// GPT-2's (c_attn, c_proj); both projections are made with Options, the second starts with `ProjectionDeviation`.
template <int Width, int Heads, LinearOptions Options = LinearOptions{}, double ProjectionDeviation = Options.deviation>
using CausalSelfAttention =
    Sequential<Named<"c_attn", Linear<Width, 3 * Width, Options>>, CausalAttention<Width, Heads>,
               Named<"c_proj", Linear<Width, Width, LinearOptions{Options.bias, Options.layout, ProjectionDeviation}>>>;

} // namespace cleave
