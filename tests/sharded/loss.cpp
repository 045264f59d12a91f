#include <cleave/sharded/loss.hpp>

#include <cmath>
#include <string>
#include <type_traits>
#include <utility>

#include <cleave/layers/mean_squared_error.hpp>
#include <doctest/doctest.h>

#include "support/error_text.hpp"
#include "support/training.hpp"

using namespace cleave;
using namespace cleave::testing;

namespace {

template <typename Reduction>
using Gpt = ShardedModule<TinyGpt, comm::Threads, precision::Full<double>, Reduction>;

/// The same data on `ranks` ranks, and on one that takes all their sequences at once, or one after the other.
template <typename Model>
double difference(int ranks, bool at_once) {
  Recipe const split{.ranks = ranks, .batch = 2, .micro_batches = 2};
  Recipe const whole{.ranks = 1, .batch = at_once ? 2 * ranks : 2, .micro_batches = at_once ? 2 : 2 * ranks};
  return distance(train<Model, BySgd>(ragged_text, split), train<Model, BySgd>(ragged_text, whole));
}

/// Mean loss and gradient of one step where rank r is given sequence r, its targets ignored unless `counts` says so.
struct Outcome {
  double loss = 0;
  Values gradients;
  std::string error;
};
template <typename Model, typename Counts>
Outcome one_step(int ranks, Counts counts) {
  Outcome outcome;
  comm::Threads::run(ranks, [&](comm::Threads& world) {
    Model model(world, {.batch = 1, .sequence = 8, .seed = 5, .threads = 1});
    auto rows = rows_of<Model>(tiny_text, world.rank(), 1);
    if (!counts(world.rank())) {
      rows.targets.assign(rows.targets.size(), ignored_target);
    }
    model.backward(model.loss(rows.input, rows.targets));
    auto const error = error_text<Error>([&] { static_cast<void>(gradients_of(model)); });
    auto const values = error.empty() ? gradients_of(model) : Values{};
    if (world.rank() == 0) {
      outcome = {model.mean_loss(), values, error};
    }
  });
  return outcome;
}

template <typename Model>
void ignores_ranks_without_rows() {
  auto const alone = one_step<Model>(1, [](int) { return true; });
  auto const first = one_step<Model>(3, [](int rank) { return rank == 0; });
  CHECK(alone.error == "");
  CHECK(first.error == "");
  CHECK(std::abs(alone.loss - first.loss) < 1e-12);
  CHECK(distance(first.gradients, alone.gradients) < 1e-12);
  auto const none = one_step<Model>(3, [](int) { return false; });
  CHECK(contains(none.error, "no row counts"));
  CHECK(contains(none.error, "target that is not ignored"));
}

} // namespace

TEST_CASE("a loss has a mean where rows count, and none where all are ignored") {
  CHECK_EQ(Loss{6, 4, 1}.mean(), 1.5);
  CHECK(std::isnan(Loss{0, 0, 1}.mean()));
}

TEST_CASE("MeanOverWeight is the mean over all rows that count, whichever rank or micro-batch holds them") {
  for (int const ranks : {2, 3, 4}) {
    CAPTURE(ranks);
    CHECK(difference<Gpt<reduction::MeanOverWeight>>(ranks, true) < 1e-12);
    CHECK(difference<Gpt<reduction::MeanOverWeight>>(ranks, false) < 1e-12);
  }
}

TEST_CASE("Sum is the sum over all rows") {
  CHECK(difference<Gpt<reduction::Sum>>(3, true) < 1e-12);
  CHECK(difference<Gpt<reduction::Sum>>(3, false) < 1e-12);
}

TEST_CASE("MeanOverRanks is the mean of the means of ranks and micro-batches, so it is not the mean over rows") {
  CHECK(difference<Gpt<reduction::MeanOverRanks>>(3, false) < 1e-12);
  CHECK(difference<Gpt<reduction::MeanOverRanks>>(3, true) > 1e-3);
}

TEST_CASE("the mean loss and the gradient are those of the reduction's formula") {
  struct Sums {
    double sum = 0;
    double weight = 0;
    double means = 0;
  } sums;
  comm::Self self;
  ShardedModule<TinyGpt, precision::Full<double>> alone(self, {.batch = 1, .sequence = 8, .seed = 5, .threads = 1});
  for (int rank = 0; rank != 3; ++rank) { // ranks 0, 1, 2 hold 1, 2, 3 sequences
    auto const rows = rows_of<Gpt<reduction::Sum>>(tiny_text, rank, 1);
    for (int copy = 0; copy <= rank; ++copy) {
      Loss const loss = alone.evaluate(rows.input, rows.targets);
      sums = {sums.sum + loss.sum, sums.weight + loss.weight, sums.means + (copy == 0 ? loss.mean() : 0)};
    }
  }
  auto const uneven = [&]<typename Model>(std::type_identity<Model>) {
    double loss = 0;
    comm::Threads::run(3, [&](comm::Threads& world) {
      Model model(world, {.batch = 3, .sequence = 8, .seed = 5, .threads = 1});
      auto const one = rows_of<Model>(tiny_text, world.rank(), 1);
      auto rows = one;
      for (int copy = 0; copy != world.rank(); ++copy) {
        rows.input.insert(rows.input.end(), one.input.begin(), one.input.end());
        rows.targets.insert(rows.targets.end(), one.targets.begin(), one.targets.end());
      }
      model.backward(model.loss(rows.input, rows.targets));
      if (world.rank() == 0) {
        loss = model.mean_loss();
      }
      world.barrier();
    });
    return loss;
  };
  CHECK(std::abs(uneven(std::type_identity<Gpt<reduction::MeanOverWeight>>{}) - sums.sum / sums.weight) < 1e-12);
  CHECK(std::abs(uneven(std::type_identity<Gpt<reduction::Sum>>{}) - sums.sum / sums.weight) < 1e-12);
  CHECK(std::abs(uneven(std::type_identity<Gpt<reduction::MeanOverRanks>>{}) - sums.means / 3) < 1e-12);
}

TEST_CASE("ranks without a row that counts change nothing; without any in the world there is an error") {
  ignores_ranks_without_rows<Gpt<reduction::MeanOverWeight>>();
  ignores_ranks_without_rows<Gpt<reduction::Sum>>();
  ignores_ranks_without_rows<Gpt<reduction::MeanOverRanks>>();
}

TEST_CASE("a scale multiplies the gradient, not the loss") {
  using Model = ShardedModule<Linear<3, 2>, MeanSquaredError<2>, precision::Full<double>>;
  comm::Self self;
  Model model(self, {.batch = 4, .seed = 5, .threads = 1});
  auto const rows = rows_of<Model>({.inputs = 3, .outputs = 2}, 0, 4);
  auto const run = [&](double scale) {
    model.clear_gradients();
    model.backward(model.loss(rows.input, rows.targets, scale));
    return std::pair{model.gradient_norm(), model.mean_loss()};
  };
  auto const [norm, loss] = run(1);
  auto const [doubled, same] = run(2);
  CHECK(norm > 0);
  CHECK_EQ(doubled, 2 * norm);
  CHECK_EQ(same, loss);
}
