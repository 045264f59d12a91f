// Run under mpirun: processes and threads come to the same bits, and so do an asynchronous device and the plain one.

#include <cleave/comm/mpi.hpp>
#include <cleave/comm/threads.hpp>
#include <cleave/sharded/sharded_module.hpp>

#include <doctest/doctest.h>

#include "../support/async_cpu.hpp"
#include "../support/training.hpp"

namespace {

using namespace cleave;
using cleave::testing::AsyncCpu;
using cleave::testing::Recipe;
using cleave::testing::TinyBlock;
using cleave::testing::TinyGpt;

template <typename... Policies>
void check_equal(Recipe recipe) {
  comm::Mpi world(0, nullptr);
  recipe.ranks = world.size();
  using OnProcesses = ShardedModule<TinyGpt, Policies..., comm::Mpi>;
  using OnThreads = ShardedModule<TinyGpt, Policies..., comm::Threads>;
  auto const processes =
      cleave::testing::train_rank<OnProcesses, cleave::testing::ByAdamW>(world, cleave::testing::ragged_text, recipe);
  CHECK(processes == cleave::testing::train<OnThreads>(cleave::testing::ragged_text, recipe));
}

} // namespace

TEST_CASE("Processes and threads train to the same bits, fully sharded") {
  check_equal<sharding::Full>({.batch = 2, .micro_batches = 2});
}

TEST_CASE("Processes and threads train to the same bits, in bfloat16 with recomputation") {
  check_equal<sharding::GradientsAndOptimizer, precision::Mixed<bfloat16>, recompute::Types<TinyBlock>,
              prefetch::BackwardPost<>>({.batch = 2});
}

TEST_CASE("Processes and threads train to the same bits, unsharded") { check_equal<sharding::None>({.batch = 3}); }

TEST_CASE("An asynchronous device trains to the same bits on processes") {
  comm::Mpi world(0, nullptr);
  Recipe const recipe{.ranks = world.size(), .batch = 2};
  using Plain = ShardedModule<TinyGpt, comm::Mpi>;
  using Asynchronous = ShardedModule<TinyGpt, comm::Mpi, AsyncCpu>;
  using cleave::testing::ByAdamW;
  auto const expected = cleave::testing::train_rank<Plain, ByAdamW>(world, cleave::testing::ragged_text, recipe);
  for (unsigned seed = 0; seed != 5; ++seed) {
    AsyncCpu::seed(seed);
    CHECK(cleave::testing::train_rank<Asynchronous, ByAdamW>(world, cleave::testing::ragged_text, recipe) == expected);
  }
}
