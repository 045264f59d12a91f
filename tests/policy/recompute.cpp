#include <cleave/policy/recompute.hpp>

#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <cleave/comm/self.hpp>
#include <cleave/layers/checkpoint.hpp>
#include <cleave/models/gpt.hpp>
#include <cleave/sharded/sharded_module.hpp>

using namespace cleave;

namespace {

template <std::size_t E, typename... Args>
using LayerOf = typename ShardedModule<Args...>::Configuration::Chain::template EntryAt<E>::Layer;

constexpr models::gpt::Config small{
    .vocabulary = 11, .context = 8, .layers = 2, .width = 8, .heads = 2, .dropout = true};
using Gpt = models::gpt::Gpt<small>;
using Block = models::gpt::Block<small>;
using Attention = CausalAttention<8, 2>;
using SelfAttention = models::gpt::detail::Attention<small>;
using Fc = models::gpt::detail::Projection<8, 32>;

template <typename Policy>
using GptBlock = LayerOf<1, Gpt, Policy>;

// The block by hand, with two places to be filled.
template <typename Attn, typename Mlp>
using BlockOf = Sequential<Residual<Sequential<Named<"ln_1", LayerNorm<8>>, Named<"attn", Attn>, Dropout>>,
                           Residual<Sequential<Named<"ln_2", LayerNorm<8>>, Named<"mlp", Mlp>, Dropout>>>;
using Mlp = models::gpt::detail::Mlp<small>;
static_assert(std::is_same_v<BlockOf<SelfAttention, Mlp>, Block>);

} // namespace

static_assert(recompute::Types<int, char>::matches<char> && !recompute::Types<int, char>::matches<long>);
static_assert(!recompute::None::matches<int> && recompute::All::matches<int>);

static_assert(std::is_same_v<GptBlock<recompute::None>, Block>);
static_assert(std::is_same_v<GptBlock<recompute::Types<Block>>, Checkpoint<Block>>);

// A layer deep inside is found in compositions of every kind, and only what is named is wrapped.
template <std::size_t I, typename... Ls>
using At = detail::type_at<I, Ls...>;
template <typename T>
struct parts;
template <typename... Ls>
struct parts<Sequential<Ls...>> {
  template <std::size_t I>
  using at = At<I, Ls...>;
};
template <std::size_t I, typename L>
using Part = typename parts<L>::template at<I>;

using DeepAttention = Sequential<Part<0, SelfAttention>, Checkpoint<Attention>, Part<2, SelfAttention>>;
static_assert(std::is_same_v<GptBlock<recompute::Types<Attention>>, BlockOf<DeepAttention, Mlp>>);
static_assert(std::is_same_v<GptBlock<recompute::Types<Attention, Gelu>>,
                             BlockOf<DeepAttention, Sequential<Part<0, Mlp>, Checkpoint<Gelu>, Part<2, Mlp>>>>);
static_assert(std::is_same_v<GptBlock<recompute::Types<Fc>>,
                             BlockOf<SelfAttention, Sequential<Named<"c_fc", Checkpoint<Fc>>, Gelu, Part<2, Mlp>>>>);
static_assert(std::is_same_v<GptBlock<recompute::Types<SelfAttention>>, BlockOf<Checkpoint<SelfAttention>, Mlp>>);
// What is wrapped is not searched again: the outer layer covers the inner one.
static_assert(std::is_same_v<GptBlock<recompute::Types<Block, Attention>>, Checkpoint<Block>>);

// All wraps whole stages; the loss, which ends the model, is not a layer that could be.
static_assert(std::is_same_v<GptBlock<recompute::All>, Checkpoint<Block>>);
static_assert(std::is_same_v<LayerOf<0, Gpt, recompute::All>, LayerOf<0, Gpt>>,
              "what starts from tokens is left alone");
static_assert(std::is_same_v<LayerOf<2, Gpt, recompute::All>, Checkpoint<Named<"ln_f", LayerNorm<8>>>>);
static_assert(std::is_same_v<LayerOf<3, Gpt, recompute::All>, LayerOf<3, Gpt>>);
static_assert(std::is_same_v<LayerOf<0, recompute::All, Linear<2, 3>, Gelu>, Checkpoint<Linear<2, 3>>>);
static_assert(std::is_same_v<LayerOf<0, recompute::All, Repeat<3, Linear<2, 2>>>, Checkpoint<Linear<2, 2>>>);

// Types wraps what starts from tokens when it is named.
static_assert(
    std::is_same_v<LayerOf<0, Sequential<Embedding<5, 4>, Gelu>, recompute::Types<Sequential<Embedding<5, 4>, Gelu>>>,
                   Checkpoint<Sequential<Embedding<5, 4>, Gelu>>>);

namespace {

template <typename Policy>
std::vector<float> gradients() {
  comm::Self self;
  ShardedModule<Gpt, Policy> model(self, {.batch = 2, .sequence = 8, .seed = 5, .dropout = 0.3, .threads = 1});
  std::vector<std::int32_t> const tokens{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 1, 2, 3, 4, 5};
  model.backward(model.loss(tokens, tokens));
  std::vector<float> all;
  model.visit_gradients([&](Name const&, Placement const&, std::span<float const> part) {
    all.insert(all.end(), part.begin(), part.end());
  });
  all.push_back(static_cast<float>(model.mean_loss()));
  return all;
}

template <typename Policy>
constexpr Index activations = memory_plan<ShardedModule<Gpt, Policy>>({.batch = 64,
                                                                       .sequence = 8})[Buffer::activations];

} // namespace

static_assert(activations<recompute::Types<Block>> < activations<recompute::None>);

TEST_CASE("recomputing changes no bit of loss and gradient, dropout included") {
  auto const stored = gradients<recompute::None>();
  CHECK_EQ(gradients<recompute::Types<Block>>(), stored);
  CHECK_EQ(gradients<recompute::Types<Attention>>(), stored);
  CHECK_EQ((gradients<recompute::Types<Gelu, Dropout>>()), stored);
  CHECK_EQ(gradients<recompute::All>(), stored);
}
