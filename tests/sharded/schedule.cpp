// The collectives that a step starts, and what may come between them.
#include <cleave/sharded/sharded_module.hpp>

#include <vector>

#include <cleave/layers/mean_squared_error.hpp>
#include <doctest/doctest.h>

#include "support/training.hpp"

using namespace cleave;
using namespace cleave::testing;

namespace {

/// Collectives started by a forward and by the backward after it, an evaluation, and a whole step of two micro-batches.
struct Seen {
  CollectiveCounts forward;
  CollectiveCounts backward;
  CollectiveCounts evaluation;
  CollectiveCounts step;
  friend bool operator==(Seen const&, Seen const&) = default;
};

template <typename... Args>
Seen seen(Data const& data = tiny_text) {
  using Model = ShardedModule<Args..., comm::Threads>;
  std::vector<Seen> ranks(2);
  comm::Threads::run(2, [&](comm::Threads& world) {
    Model model(world, {.batch = 2, .sequence = data.sequence, .threads = 1});
    optim::AdamW adam(model);
    auto const rows = rows_of<Model>(data, world.rank(), 2);
    auto const count = [&](auto work) {
      CollectiveCounts const before = model.counts();
      work();
      return CollectiveCounts{model.counts().gathers - before.gathers,
                              model.counts().reduce_scatters - before.reduce_scatters};
    };
    Seen& mine = ranks[static_cast<std::size_t>(world.rank())];
    Loss loss;
    mine.forward = count([&] { loss = model.loss(rows.input, rows.targets); });
    mine.backward = count([&] { model.backward(loss); });
    adam.step();
    mine.evaluation = count([&] { static_cast<void>(model.evaluate(rows.input, rows.targets)); });
    mine.step = count([&] {
      model.backward(model.loss(rows.input, rows.targets));
      model.backward(model.loss(rows.input, rows.targets));
      adam.step();
    });
  });
  CHECK(ranks[0] == ranks[1]);
  return ranks[0];
}

// Two blocks and a root: three units.
constexpr Seen full{{3, 0}, {2, 3}, {3, 0}, {10, 6}};

template <typename... Policies>
using Pack = cleave::detail::type_list<Embedding<17, 8>, Linear<8, 8>, OutputCrossEntropy<8, 17>, Policies...>;
template <typename... Args>
Seen seen_of(cleave::detail::type_list<Args...>) {
  return seen<Args...>();
}

} // namespace

TEST_CASE("Full gathers N + 1 units forward and N backward, because the root stays, and reduces N + 1") {
  CHECK(seen<TinyGpt>() == full);
  CHECK(seen<TinyGpt, prefetch::None>() == full);
  CHECK(seen<TinyGpt, prefetch::BackwardPre<2>, prefetch::Forward<2>>() == full);
  CHECK(seen<TinyGpt, prefetch::BackwardPost<2>, prefetch::Forward<0>>() == full);
}

TEST_CASE("recomputation gathers nothing more") {
  CHECK(seen<TinyGpt, recompute::Types<TinyBlock>>() == full);
  CHECK(seen<TinyGpt, recompute::All>() == full);
}

TEST_CASE("strategies that keep weights gather them once a micro-batch, once a step, or never") {
  CHECK(seen<TinyGpt, sharding::GradientsAndOptimizer>() == Seen{{3, 0}, {0, 3}, {3, 0}, {6, 6}});
  CHECK(seen<TinyGpt, sharding::OptimizerOnly>() == Seen{{3, 0}, {0, 3}, {3, 0}, {0, 6}});
  CHECK(seen<TinyGpt, sharding::None>() == Seen{{0, 0}, {0, 3}, {0, 0}, {0, 6}});
}

TEST_CASE("a loss with weights of its own is a unit, and is not gathered again for its gradient") {
  CHECK(seen_of(Pack<>{}) == full);
  CHECK(seen_of(Pack<prefetch::None>{}) == full);
  CHECK(seen_of(Pack<prefetch::BackwardPost<>>{}) == full);
  CHECK(seen_of(Pack<sharding::GradientsAndOptimizer>{}) == Seen{{3, 0}, {0, 3}, {3, 0}, {6, 6}});
}

TEST_CASE("layers without parameters are no units") {
  constexpr Data features{.inputs = 3, .outputs = 2};
  Seen const two{{2, 0}, {2, 2}, {2, 0}, {8, 4}};
  CHECK(seen<Tanh, Linear<3, 4>, Tanh, Linear<4, 2>, MeanSquaredError<2>>(features) == two);
  CHECK(seen<Repeat<2, Linear<3, 3>>, Linear<3, 2>, MeanSquaredError<2>>(features) ==
        Seen{{3, 0}, {3, 3}, {3, 0}, {12, 6}});
}
