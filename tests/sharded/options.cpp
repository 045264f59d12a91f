#include <cleave/sharded/options.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <cleave/layers/dropout.hpp>
#include <cleave/layers/mean_squared_error.hpp>
#include <doctest/doctest.h>

#include "support/error_text.hpp"
#include "support/training.hpp"

using namespace cleave;
using namespace cleave::testing;

namespace {

using Gpt = ShardedModule<TinyGpt, comm::Threads>;
using Mlp =
    ShardedModule<Linear<3, 4>, Dropout, Linear<4, 2>, MeanSquaredError<2>, precision::Full<double>, comm::Threads>;
constexpr Data features{.inputs = 3, .outputs = 2};

bool has_all(std::string const& text, std::vector<std::string> const& parts) {
  bool all = !text.empty();
  for (std::string const& part : parts) {
    all = all && contains(text, part);
  }
  return all;
}

/// What each rank is told when rank `bad` alone gives a model this batch, and the others a good one.
std::vector<std::string> all_are_told(int bad, std::vector<std::int32_t> const& input,
                                      std::vector<std::int32_t> const& targets) {
  std::vector<std::string> told(3);
  comm::Threads::run(3, [&](comm::Threads& world) {
    Gpt model(world, {.batch = 2, .sequence = 8, .threads = 1});
    auto const good = rows_of<Gpt>(tiny_text, world.rank(), 2);
    bool const mine = world.rank() == bad;
    told[static_cast<std::size_t>(world.rank())] = error_text<Error>(
        [&] { model.backward(model.loss(mine ? input : good.input, mine ? targets : good.targets)); });
  });
  return told;
}

bool all_name(std::vector<std::string> const& told, std::vector<std::string> const& parts) {
  bool all = true;
  for (std::string const& text : told) {
    all = all && has_all(text, parts);
  }
  return all;
}

std::string construction(ModelOptions options) {
  return error_text<InvalidArgument>([&] {
    comm::Self world;
    ShardedModule<TinyGpt> const model(world, options);
  });
}

} // namespace

TEST_CASE("options that fit no model are refused before anything is allocated") {
  constexpr Index huge = std::numeric_limits<Index>::max() / 4;
  for (ModelOptions const options : {ModelOptions{.batch = 0, .sequence = 8}, ModelOptions{.batch = -1, .sequence = 8},
                                     ModelOptions{.batch = 1, .sequence = 0}, ModelOptions{.batch = 1, .sequence = 9},
                                     ModelOptions{.batch = 1, .sequence = huge}}) {
    CAPTURE(options.batch);
    CAPTURE(options.sequence);
    CHECK(has_all(construction(options), {"does not fit", std::to_string(options.batch),
                                          std::to_string(options.sequence), "at most 8 positions", "ModelOptions"}));
  }
  for (double const dropout : {-0.1, 1.0, 2.0, std::numeric_limits<double>::quiet_NaN()}) {
    CAPTURE(dropout);
    CHECK(has_all(construction({.sequence = 8, .dropout = dropout}),
                  {"dropout is", "expected", "below 1", "ModelOptions"}));
  }
  CHECK(construction({.batch = 1, .sequence = 8, .dropout = 0.5, .threads = 1}).empty());
}

TEST_CASE("a bad batch on one rank ends every rank with its text, and nobody hangs") {
  using Ids = std::vector<std::int32_t>;
  Ids const good(16, 3);
  auto const with = [&](std::int32_t id) {
    Ids ids = good;
    ids[5] = id;
    return ids;
  };
  for (int const bad : {0, 2}) {
    CAPTURE(bad);
    CHECK(all_name(all_are_told(bad, with(17), good), {"token 5 is 17", "expected 0 to 16", "vocabulary"}));
    CHECK(all_name(all_are_told(bad, with(-1), good), {"token 5 is -1", "expected 0 to 16"}));
    CHECK(all_name(all_are_told(bad, with(ignored_target), good), {"token 5 is -100", "expected 0 to 16"}));
    CHECK(all_name(all_are_told(bad, good, with(17)), {"target 5 is 17", "expected 0 to 16"}));
    CHECK(all_name(all_are_told(bad, good, Ids(15, 3)), {"15 targets for 16 rows", "expected 16"}));
    CHECK(
        all_name(all_are_told(bad, Ids(24, 3), Ids(24, 3)), {"24 elements", "1 to 2 sequences of 8", "micro-batches"}));
    CHECK(all_name(all_are_told(bad, Ids(12, 3), Ids(12, 3)), {"12 elements", "1 to 2 sequences of 8"}));
    CHECK(all_name(all_are_told(bad, {}, {}), {"0 elements", "1 to 2 sequences of 8"}));
  }
  CHECK(all_are_told(-1, {}, {}) == std::vector<std::string>(3));
}

TEST_CASE("a batch that was refused leaves the model as it was") {
  comm::Self world;
  ShardedModule<TinyGpt> model(world, {.batch = 2, .sequence = 8, .threads = 1});
  auto const rows = rows_of<Gpt>(tiny_text, 0, 2);
  double const before = model.evaluate(rows.input, rows.targets).sum;
  std::vector<std::int32_t> const wrong(16, 17);
  CHECK(has_all(error_text<InvalidArgument>([&] { static_cast<void>(model.loss(wrong, rows.targets)); }),
                {"token 0 is 17"}));
  CHECK(has_all(error_text<InvalidArgument>([&] { static_cast<void>(model.evaluate(rows.input, wrong)); }),
                {"target 0 is 17"}));
  CHECK(has_all(error_text<InvalidArgument>([&] { static_cast<void>(model.logits(std::span(rows.input).first(9))); }),
                {"1 to 8 positions", "found 9"}));
  CHECK(has_all(error_text<InvalidArgument>([&] { static_cast<void>(model.logits({})); }),
                {"1 to 8 positions", "found 0"}));
  CHECK_EQ(model.evaluate(rows.input, rows.targets).sum, before);
}

TEST_CASE("dropout follows a row's place in the global batch, not its rank") {
  Recipe const split{.ranks = 3, .batch = 2, .micro_batches = 2, .dropout = 0.4};
  Recipe whole{.ranks = 1, .batch = 6, .micro_batches = 2, .dropout = 0.4};
  CHECK(distance(train<Mlp, BySgd>(features, split), train<Mlp, BySgd>(features, whole)) < 1e-12);
  whole.dropout = 0;
  CHECK(distance(train<Mlp, BySgd>(features, split), train<Mlp, BySgd>(features, whole)) > 1e-3);
}

TEST_CASE("dropout is told where rows stand when they do not stand where they are counted") {
  comm::Self world;
  ShardedModule<Dropout, Linear<3, 2>, MeanSquaredError<2>> model(
      world, {.batch = 4, .seed = 1, .dropout = 0.5, .threads = 1});
  auto const rows = rows_of<Mlp>(features, 0, 4);
  std::vector<float> const input(rows.input.begin(), rows.input.end());
  std::vector<float> const targets(rows.targets.begin(), rows.targets.end());
  auto const part = [&](Index first, Index place) {
    auto const f = static_cast<std::size_t>(first);
    return model.loss(std::span(input).subspan(3 * f, 3), std::span(targets).subspan(2 * f, 2), 1, place).sum;
  };
  double const all = model.loss(input, targets).sum;
  CHECK(std::abs(all - (part(0, 0) + part(1, 1) + part(2, 2) + part(3, 3))) < 1e-5);
  CHECK(std::abs(all - (part(0, 0) + part(1, 0) + part(2, 0) + part(3, 0))) > 1e-3);
}

TEST_CASE("Two layers of one name are refused, in whatever units they are") {
  using Twice = ShardedModule<Named<"a", Linear<2, 2>>, Named<"a", Linear<2, 2>>>;
  comm::Self world;
  CHECK(has_all(error_text<InvalidArgument>([&] { Twice{world, {}}; }), {"two parameters", "'a.weight'", "Named"}));
}

TEST_CASE("Fewer than no threads, and places before the first, are refused") {
  CHECK(has_all(construction({.sequence = 8, .threads = -1}), {"-1 threads", "ModelOptions"}));
  comm::Self world;
  ShardedModule<Linear<3, 2>, MeanSquaredError<2>> model(world, {.threads = 1});
  std::vector<float> const row(3), target(2);
  CHECK(has_all(error_text<InvalidArgument>([&] { static_cast<void>(model.loss(row, target, 1, -2)); }),
                {"first_sequence is -2", "expected 0 or more"}));
}
