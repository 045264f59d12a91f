// Streams that run late, at random, and memory that is NaN until it is written: a missing event, or a buffer that is
// used too early, changes a bit here.
#include <cleave/sharded/sharded_module.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <cleave/layers/mean_squared_error.hpp>
#include <doctest/doctest.h>

#include "support/async_cpu.hpp"
#include "support/error_text.hpp"
#include "support/training.hpp"

using namespace cleave;
using namespace cleave::testing;

namespace {

constexpr std::uint64_t seeds = 50;

/// Whether training on streams has the bits of training without, under every seed.
template <typename... Args>
bool same_bits(Data const& data, Recipe const& recipe) {
  Trained const wanted = train<ShardedModule<Args..., comm::Threads>>(data, recipe);
  bool same = wanted.norms.back() > 0;
  for (std::uint64_t seed = 0; seed != seeds; ++seed) {
    AsyncCpu::seed(1000 * seed);
    same = same && train<ShardedModule<Args..., comm::Threads, AsyncCpu>>(data, recipe) == wanted;
  }
  return same;
}

using Half = precision::Mixed<bfloat16>;
constexpr Recipe two_ranks{.ranks = 2, .micro_batches = 2, .steps = 2};

} // namespace

TEST_CASE("a sharded GPT trains to the same bits on streams that delay at random") {
  CHECK(same_bits<TinyGpt>(tiny_text, two_ranks));
}

TEST_CASE("weights of another type are cast before they travel, whatever the delays") {
  CHECK(same_bits<TinyGpt, Half, prefetch::BackwardPost<2>, prefetch::Forward<2>, recompute::All>(ragged_text,
                                                                                                  two_ranks));
}

TEST_CASE("a deep pack, whose units share few buffers, trains to the same bits") {
  using Loss = OutputCrossEntropy<4, 17>;
  CHECK(same_bits<Embedding<17, 4>, Repeat<5, Linear<4, 4>>, Tanh, Loss>(tiny_text, two_ranks));
  CHECK(
      same_bits<Embedding<17, 4>, Repeat<5, Linear<4, 4>>, Tanh, Loss, prefetch::BackwardPre<3>>(tiny_text, two_ranks));
}

TEST_CASE("whole weights and gradients, kept between steps, trail no work behind them") {
  constexpr Data features{.inputs = 3, .outputs = 2};
  CHECK(same_bits<Linear<3, 4>, Tanh, Linear<4, 2>, MeanSquaredError<2>, Half, sharding::None>(features, two_ranks));
  CHECK(same_bits<Linear<3, 4>, Tanh, Linear<4, 2>, MeanSquaredError<2>, sharding::OptimizerOnly>(features, two_ranks));
}

TEST_CASE("looks at weights, gradients, losses and scores between steps see what is finished, and change nothing") {
  using Model = ShardedModule<Embedding<17, 4>, Linear<4, 4>, OutputCrossEntropy<4, 17>, comm::Threads>;
  using Late = ShardedModule<Embedding<17, 4>, Linear<4, 4>, OutputCrossEntropy<4, 17>, comm::Threads, AsyncCpu>;
  struct Seen {
    std::vector<Values> values;
    std::vector<double> sums;
    std::vector<float> scores;
    bool operator==(Seen const&) const = default;
  };
  auto const look = []<typename M>(std::type_identity<M>) {
    std::vector<Seen> ranks(2);
    comm::Threads::run(2, [&](comm::Threads& world) {
      M model(world, {.batch = 2, .sequence = 8, .seed = 5, .threads = 1});
      optim::AdamW adam(model, {.learning_rate = 0.1});
      auto const held_out = rows_of<M>(tiny_text, 50, 2);
      Seen& seen = ranks[static_cast<std::size_t>(world.rank())];
      for (int step = 0; step != 2; ++step) {
        seen.sums.push_back(model.loss(held_out.input, held_out.targets).sum); // no backward follows
        accumulate(model, tiny_text, two_ranks, step);
        seen.values.push_back(gradients_of(model));
        seen.sums.push_back(model.evaluate(held_out.input, held_out.targets).sum);
        adam.step();
        seen.values.push_back(weights_of(model));
        seen.scores = model.logits(std::span(held_out.input).first(5));
      }
      static_cast<void>(model.loss(held_out.input, held_out.targets));
    });
    return ranks[0];
  };
  Seen const wanted = look(std::type_identity<Model>{});
  bool same = true;
  for (std::uint64_t seed = 0; seed != seeds; ++seed) {
    AsyncCpu::seed(1000 * seed);
    same = same && look(std::type_identity<Late>{}) == wanted;
  }
  CHECK(same);
}

TEST_CASE("a bad batch on one rank ends every rank while streams work") {
  using Late = ShardedModule<TinyGpt, comm::Threads, AsyncCpu>;
  for (std::uint64_t seed = 0; seed != 10; ++seed) {
    AsyncCpu::seed(1000 * seed);
    std::vector<std::string> told(3);
    comm::Threads::run(3, [&](comm::Threads& world) {
      Late model(world, {.batch = 2, .sequence = 8, .seed = 5, .threads = 1});
      auto rows = rows_of<Late>(tiny_text, world.rank(), 2);
      model.backward(model.loss(rows.input, rows.targets));
      rows.input[3] = world.rank() == 1 ? 17 : rows.input[3];
      told[static_cast<std::size_t>(world.rank())] =
          error_text<Error>([&] { model.backward(model.loss(rows.input, rows.targets)); });
    });
    for (std::string const& text : told) {
      CHECK(contains(text, "token 3 is 17"));
    }
  }
}
