#pragma once

#include <type_traits>

#include <cleave/layers/activations.hpp>
#include <cleave/layers/attention.hpp>
#include <cleave/layers/cross_entropy.hpp>
#include <cleave/layers/dropout.hpp>
#include <cleave/layers/embedding.hpp>
#include <cleave/layers/layer_list.hpp>
#include <cleave/layers/layer_norm.hpp>
#include <cleave/layers/linear.hpp>
#include <cleave/layers/named.hpp>
#include <cleave/layers/positional_embedding.hpp>
#include <cleave/layers/repeat.hpp>
#include <cleave/layers/residual.hpp>
#include <cleave/layers/sequential.hpp>
#include <cleave/layers/tied.hpp>

/// GPT-2 (Radford et al., 2019), with the parameter names, shapes and first values of Hugging Face's GPT2LMHeadModel,
/// without the "transformer." prefix: wte.weight, h.0.attn.c_attn.weight (in, out), ln_f.bias.
namespace cleave::models::gpt {

struct Config {
  int vocabulary = 50257;
  int context = 1024;
  int layers = 12;
  int width = 768;
  int heads = 12;
  bool tied = true;     ///< the output projection is the token embedding; otherwise lm_head.weight
  bool dropout = false; ///< after the embeddings and in both branches of a block, with the model's probability
};

namespace detail {

inline constexpr double deviation = 0.02;

template <Config C>
inline constexpr double projection_deviation = deviation / init::square_root(2.0 * C.layers);

/// A Conv1D, which stores its weight as (in, out).
template <int In, int Out, double Deviation = deviation>
using Projection = Linear<In, Out, LinearOptions{true, WeightLayout::in_out, Deviation}>;

template <Config C, typename... Ls>
using WithDropout = std::conditional_t<C.dropout, Sequential<Ls..., Dropout>, Sequential<Ls...>>;

template <Config C>
using Mlp = Sequential<Named<"c_fc", Projection<C.width, 4 * C.width>>, Gelu,
                       Named<"c_proj", Projection<4 * C.width, C.width, projection_deviation<C>>>>;

template <Config C>
using Attention = CausalSelfAttention<C.width, C.heads, LinearOptions{true, WeightLayout::in_out, deviation},
                                      projection_deviation<C>>;

template <Config C>
using Head = OutputCrossEntropy<C.width, C.vocabulary, deviation>;

} // namespace detail

/// One transformer block: x + attention(norm(x)), then x + mlp(norm(x)).
template <Config C>
using Block =
    Sequential<Residual<detail::WithDropout<C, Named<"ln_1", LayerNorm<C.width>>, Named<"attn", detail::Attention<C>>>>,
               Residual<detail::WithDropout<C, Named<"ln_2", LayerNorm<C.width>>, Named<"mlp", detail::Mlp<C>>>>>;

/// Token ids to the next token's cross-entropy.
template <Config C>
struct Gpt {
  using Layers = LayerList<
      detail::WithDropout<C, Named<"wte", Embedding<C.vocabulary, C.width, detail::deviation>>,
                          Named<"wpe", PositionalEmbedding<C.context, C.width, detail::deviation>>>,
      Named<"h", Repeat<C.layers, Block<C>>>, Named<"ln_f", LayerNorm<C.width>>,
      std::conditional_t<C.tied, Tied<"wte.weight", detail::Head<C>>, Named<"lm_head", detail::Head<C>>>>;
};

} // namespace cleave::models::gpt
