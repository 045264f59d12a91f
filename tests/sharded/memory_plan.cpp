#include <cleave/sharded/memory_plan.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include <cleave/layers/mean_squared_error.hpp>
#include <doctest/doctest.h>

#include "support/training.hpp"

using namespace cleave;
using namespace cleave::testing;

namespace {

constexpr Index megabyte = 1'000'000;

/// Whether every rank allocates, and uses in two steps and an evaluation, what the plan says, to the byte.
template <typename... Args>
bool is_exact(int ranks) {
  using Model = ShardedModule<TinyGpt, comm::Threads, Args...>;
  std::vector<char> exact(static_cast<std::size_t>(ranks));
  comm::Threads::run(ranks, [&](comm::Threads& world) {
    Model model(world, {.batch = 3, .sequence = 8, .threads = 1});
    optim::AdamW adam(model);
    optim::Sgd const sgd(model);
    PlanOptions options{.ranks = ranks, .batch = 3, .sequence = 8, .threads = 1, .moments = 0};
    auto const plan = memory_plan<Model>(options);
    bool const allocated = model.allocated() == plan;
    auto const rows = rows_of<Model>(tiny_text, 0, 3);
    for (int step = 0; step != 2; ++step) {
      model.backward(model.loss(rows.input, rows.targets));
      adam.step();
      static_cast<void>(model.evaluate(rows.input, rows.targets));
      static_cast<void>(model.logits(std::span(rows.input).first(8)));
    }
    auto const with = [&](int moments, Index bytes) {
      options.moments = moments;
      auto const planned = memory_plan<Model>(options);
      return planned[Buffer::optimizer_state] == bytes && planned.peak() == plan.peak() + bytes;
    };
    exact[static_cast<std::size_t>(world.rank())] = allocated && model.allocated() == plan &&
                                                    model.high_water() == plan && plan[Buffer::optimizer_state] == 0 &&
                                                    with(2, adam.allocated()) && with(1, sgd.allocated());
  });
  return exact == std::vector<char>(static_cast<std::size_t>(ranks), 1);
}

template <typename... Args>
bool is_exact_everywhere() {
  return is_exact<Args...>(1) && is_exact<Args...>(2) && is_exact<Args...>(3);
}

using Half = precision::Mixed<bfloat16>;
using Recompute = recompute::Types<TinyBlock>;

// GPT-2 124M on 8 ranks, as a constant expression.
constexpr models::gpt::Config gpt2{};
template <typename... Args>
constexpr MemoryPlan gpt2_plan = memory_plan<ShardedModule<models::gpt::Gpt<gpt2>, comm::Threads, Args...>>(
    {.ranks = 8, .batch = 1, .sequence = 1024});
constexpr Index gpt2_parameters = 124'439'808;

static_assert(gpt2_plan<sharding::None>[Buffer::parameter_shards] >= 4 * gpt2_parameters);
static_assert(gpt2_plan<sharding::None>[Buffer::parameter_shards] < 4 * gpt2_parameters + megabyte);
static_assert(gpt2_plan<>[Buffer::parameter_shards] < 4 * gpt2_parameters / 8 + megabyte);
static_assert(gpt2_plan<>[Buffer::optimizer_state] == 2 * gpt2_plan<>[Buffer::parameter_shards]);
static_assert(gpt2_plan<>.peak() < gpt2_plan<sharding::GradientsAndOptimizer>.peak());
static_assert(gpt2_plan<sharding::GradientsAndOptimizer>.peak() < gpt2_plan<sharding::OptimizerOnly>.peak());
static_assert(gpt2_plan<Half>[Buffer::gathered_parameters] == gpt2_plan<>[Buffer::gathered_parameters] / 2);
static_assert(gpt2_plan<Half>[Buffer::activations] < gpt2_plan<>[Buffer::activations]);
static_assert(gpt2_plan<recompute::Types<models::gpt::Block<gpt2>>>[Buffer::activations] <
              gpt2_plan<>[Buffer::activations] / 3);
static_assert(gpt2_plan<prefetch::BackwardPre<2>>[Buffer::gathered_parameters] >
              gpt2_plan<>[Buffer::gathered_parameters]);

/// A deep pack of equal layers, where sharding pays: no activations to speak of.
using Deep = Repeat<16, Linear<512, 512>>;
template <typename... Args>
constexpr MemoryPlan
    deep_plan = memory_plan<ShardedModule<Deep, MeanSquaredError<512>, comm::Threads, Args...>>({.ranks = 8});
constexpr Index without_workspace(MemoryPlan const& plan) { return plan.peak() - plan[Buffer::workspace]; }
static_assert(4 * without_workspace(deep_plan<>) < without_workspace(deep_plan<sharding::None>));

} // namespace

TEST_CASE("float: allocated is planned is used, to the byte") {
  CHECK(is_exact_everywhere<>());
  CHECK(is_exact_everywhere<sharding::GradientsAndOptimizer>());
  CHECK(is_exact_everywhere<sharding::OptimizerOnly, Recompute>());
  CHECK(is_exact_everywhere<sharding::None>());
  CHECK(is_exact_everywhere<Recompute>());
}

TEST_CASE("bfloat16: allocated is planned is used, to the byte") {
  CHECK(is_exact_everywhere<Half>());
  CHECK(is_exact_everywhere<Half, sharding::GradientsAndOptimizer, recompute::All>());
  CHECK(is_exact_everywhere<Half, sharding::OptimizerOnly>());
  CHECK(is_exact_everywhere<Half, sharding::None, Recompute>());
}

TEST_CASE("double: allocated is planned is used, to the byte") {
  CHECK(is_exact_everywhere<precision::Full<double>, recompute::All>());
  CHECK(is_exact_everywhere<precision::Full<double>, sharding::None, prefetch::None>());
}

TEST_CASE("every region has a name and phases, and they add up to the peak") {
  MemoryPlan plan;
  Index sum = 0;
  for (std::size_t i = 0; i != buffer_kinds; ++i) {
    plan[static_cast<Buffer>(i)] = Index{1} << i;
    sum += Index{1} << i;
    CHECK_FALSE(buffer_kind[i].name.empty());
    Phases const phases = buffer_kind[i].phases;
    CHECK((phases.rest || phases.forward || phases.backward || phases.step));
    for (std::size_t j = 0; j != i; ++j) {
      CHECK(buffer_kind[i].name != buffer_kind[j].name);
    }
  }
  CHECK_EQ(plan.peak(), sum);
}
