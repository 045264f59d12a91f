#include <cleave/sharded/sharded_module.hpp>

#include <cleave/layers/mean_squared_error.hpp>

#include <doctest/doctest.h>

#include "support/training.hpp"

using namespace cleave;
using namespace cleave::testing;

namespace {

template <typename... Policies>
using Gpt = ShardedModule<TinyGpt, comm::Threads, Policies...>;

/// Whether all models train to the same bits. NaN is no number equal to another, so it does not pass.
template <typename First, typename... Others>
bool same_bits(Data const& data, Recipe const& recipe) {
  Trained const first = train<First>(data, recipe);
  return first.norms.back() > 0 && (... && (train<Others>(data, recipe) == first));
}

constexpr int worlds[] = {1, 2, 3, 4, 8};

} // namespace

TEST_CASE("every sharding strategy trains to the same bits") {
  for (int const ranks : worlds) {
    CAPTURE(ranks);
    CHECK(same_bits<Gpt<>, Gpt<sharding::GradientsAndOptimizer>, Gpt<sharding::OptimizerOnly>, Gpt<sharding::None>>(
        tiny_text, {.ranks = ranks}));
  }
}

TEST_CASE("with a bfloat16 wire too, ragged targets and micro-batches included") {
  using Half = precision::Mixed<bfloat16>;
  for (int const micro_batches : {1, 2, 3}) {
    CAPTURE(micro_batches);
    CHECK(same_bits<Gpt<Half>, Gpt<Half, sharding::GradientsAndOptimizer>, Gpt<Half, sharding::OptimizerOnly>,
                    Gpt<Half, sharding::None>>(ragged_text, {.ranks = 3, .micro_batches = micro_batches}));
  }
}

TEST_CASE("when weights are gathered changes no bit") {
  for (int const micro_batches : {1, 2, 3}) {
    CAPTURE(micro_batches);
    CHECK(same_bits<Gpt<>, Gpt<prefetch::None>, Gpt<prefetch::BackwardPre<2>, prefetch::Forward<2>>,
                    Gpt<prefetch::BackwardPost<1>, prefetch::Forward<0>>>(
        tiny_text, {.ranks = 3, .micro_batches = micro_batches}));
  }
}

TEST_CASE("what is computed again has the same bits, dropout included") {
  constexpr models::gpt::Config dropping = [] {
    auto config = tiny;
    config.dropout = true;
    return config;
  }();
  using Model = models::gpt::Gpt<dropping>;
  using Block = models::gpt::Block<dropping>;
  Recipe const recipe{.ranks = 2, .micro_batches = 2, .dropout = 0.2};
  CHECK(same_bits<ShardedModule<Model, comm::Threads>, ShardedModule<Model, comm::Threads, recompute::Types<Block>>,
                  ShardedModule<Model, comm::Threads, recompute::All>>(tiny_text, recipe));
  Recipe without = recipe;
  without.dropout = 0;
  CHECK(train<ShardedModule<Model, comm::Threads>>(tiny_text, recipe) !=
        train<ShardedModule<Model, comm::Threads>>(tiny_text, without));
}

TEST_CASE("a run has the bits of the run before it, and those of one rank without threads") {
  CHECK(train<Gpt<>>(tiny_text, {.ranks = 4}) == train<Gpt<>>(tiny_text, {.ranks = 4}));
  CHECK(train<ShardedModule<TinyGpt>>(tiny_text, {.ranks = 1}) == train<Gpt<>>(tiny_text, {.ranks = 1}));
}

TEST_CASE("a pack of small layers whose last shards are empty has the same bits for every strategy") {
  Data const data{.inputs = 1, .outputs = 1};
  for (int const ranks : worlds) {
    CAPTURE(ranks);
    Recipe const recipe{.ranks = ranks, .batch = 3, .micro_batches = 2};
    CHECK(same_bits<ShardedModule<Linear<1, 2>, Tanh, Linear<2, 1>, MeanSquaredError<1>, comm::Threads>,
                    ShardedModule<Linear<1, 2>, Tanh, Linear<2, 1>, MeanSquaredError<1>, comm::Threads, sharding::None>,
                    ShardedModule<Linear<1, 2>, Tanh, Linear<2, 1>, MeanSquaredError<1>, comm::Threads,
                                  sharding::GradientsAndOptimizer, prefetch::BackwardPost<>>>(data, recipe));
  }
}
