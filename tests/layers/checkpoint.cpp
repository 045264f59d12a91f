#include <cleave/layers/checkpoint.hpp>

#include <doctest/doctest.h>

#include <cleave/layers/activations.hpp>
#include <cleave/layers/attention.hpp>
#include <cleave/layers/dropout.hpp>
#include <cleave/layers/embedding.hpp>
#include <cleave/layers/layer_norm.hpp>
#include <cleave/layers/linear.hpp>
#include <cleave/layers/named.hpp>
#include <cleave/layers/positional_embedding.hpp>
#include <cleave/layers/repeat.hpp>
#include <cleave/layers/residual.hpp>
#include <cleave/layers/sequential.hpp>

#include "../support/gradient_error.hpp"
#include "../support/layer_run.hpp"
#include "../support/names.hpp"

using namespace cleave;

namespace {

using Block = Sequential<Residual<Sequential<LayerNorm<8>, CausalSelfAttention<8, 2>, Dropout>>,
                         Residual<Sequential<LayerNorm<8>, Linear<8, 32>, Gelu, Linear<32, 8>, Dropout>>>;
using Embedded = Sequential<Embedding<11, 8>, PositionalEmbedding<9, 8>, Dropout>;

/// The same with layers recomputed at each level, and around them once more.
using Nested = Checkpoint<Sequential<
    Checkpoint<Residual<Checkpoint<Sequential<LayerNorm<8>, CausalSelfAttention<8, 2>, Checkpoint<Dropout>>>>>,
    Checkpoint<
        Residual<Sequential<LayerNorm<8>, Checkpoint<Sequential<Linear<8, 32>, Gelu>>, Linear<32, 8>, Dropout>>>>>;

/// Two runs of the same numbers, stored and recomputed.
template <typename Stored, typename Recomputed, typename T>
bool same_bits() {
  auto run = testing::random_run<Stored>({2, 9});
  run.dropout = 0.3;
  testing::LayerRun<Recomputed> const other{.shape = run.shape,
                                            .columns = run.columns,
                                            .dropout = run.dropout,
                                            .weights = run.weights,
                                            .input = run.input,
                                            .dy = run.dy};
  return testing::run_layer<T>(run) == testing::run_layer<T>(other);
}

} // namespace

static_assert(layer<Checkpoint<Block>> && Checkpoint<Block>::inputs == 8 && !names_itself<Checkpoint<Block>>);
static_assert(names_itself<Checkpoint<Named<"a", Linear<2, 2>>>>);
static_assert(vocabulary<Checkpoint<Embedded>> == 11 && longest_sequence<Checkpoint<Embedded>> == 9);

TEST_CASE_TEMPLATE("recomputed layers have the bits of stored ones, forward and backward, masks too", T, float, double,
                   bfloat16) {
  CHECK(same_bits<Block, Checkpoint<Block>, T>());
  CHECK(same_bits<Block, Nested, T>());
  CHECK(same_bits<Sequential<Block, Block, Dropout>,
                  Sequential<Checkpoint<Block>, Checkpoint<Block>, Checkpoint<Dropout>>, T>());
  CHECK(same_bits<Repeat<3, Block>, Repeat<3, Checkpoint<Block>>, T>());
  CHECK(same_bits<Repeat<3, Block>, Checkpoint<Repeat<3, Checkpoint<Block>>>, T>());
}

TEST_CASE("what starts from tokens can be recomputed as well") {
  CHECK(same_bits<Embedded, Checkpoint<Embedded>, float>());
  CHECK(same_bits<Sequential<Embedded, Block>, Checkpoint<Sequential<Checkpoint<Embedded>, Block>>, float>());
}

TEST_CASE_TEMPLATE("a checkpoint's backward is the derivative of its forward", L, Checkpoint<Block>,
                   Checkpoint<Embedded>, Residual<Checkpoint<Sequential<Linear<4, 12>, CausalAttention<4, 2>>>>) {
  CHECK_LT(testing::gradient_error<L>({.dropout = 0.3}), testing::gradient_tolerance);
}

TEST_CASE("a checkpoint keeps nothing from forward, and a row of them needs less than the same layers stored") {
  auto const stored = testing::run_layer<float>(testing::random_run<Repeat<4, Block>>({2, 9}));
  auto const recomputed = testing::run_layer<float>(testing::random_run<Repeat<4, Checkpoint<Block>>>({2, 9}));
  CHECK_LT(recomputed.forward_bytes, stored.forward_bytes / 8);
  CHECK_LT(recomputed.high_water, stored.high_water / 2);
  CHECK_EQ(testing::run_layer<float>(testing::random_run<Checkpoint<Block>>({2, 9})).forward_bytes, 0);
}

TEST_CASE_TEMPLATE("a plan over an arena without memory counts what a run cuts", L, Block, Checkpoint<Block>, Nested,
                   Embedded, Checkpoint<Embedded>, Repeat<3, Checkpoint<Block>>) {
  for (Shape const shape : {Shape{1, 1}, Shape{3, 5}, Shape{2, 9}}) {
    CHECK_EQ(testing::planned_bytes<float, L>(shape),
             testing::run_layer<float>(testing::random_run<L>(shape)).high_water);
    CHECK_EQ(testing::planned_bytes<bfloat16, L>(shape),
             testing::run_layer<bfloat16>(testing::random_run<L>(shape)).high_water);
  }
}

TEST_CASE("a checkpoint's parameters are those of its layer") {
  CHECK_EQ(testing::names_of<Checkpoint<Block>>("h.0"), testing::names_of<Block>("h.0"));
}
