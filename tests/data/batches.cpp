#include <cleave/data/batches.hpp> // first: the header stands alone

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <cleave/data/token_file.hpp>

#include "../support/error_text.hpp"
#include "../support/reference.hpp"

namespace {

using namespace cleave;
using namespace cleave::data;
using testing::contains;
using testing::error_text;

/// Token i is i, so that a token tells its position.
std::vector<std::int32_t> counting(Index size) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(size));
  std::iota(tokens.begin(), tokens.end(), 0);
  return tokens;
}

struct Step {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> targets;

  friend bool operator==(Step const&, Step const&) = default;
};

/// What all ranks and micro-batches together take in a step.
template <typename Order>
Step whole_step(TokenView text, BatchShape shape, Order order, Index step) {
  Step all;
  for (shape.rank = 0; shape.rank != shape.ranks; ++shape.rank) {
    Batches batches(text, shape, order);
    for (Index micro = 0; micro != shape.micro_batches; ++micro) {
      Batch const batch = batches.read(step, micro);
      CHECK_EQ(batch.first_sequence * shape.context, static_cast<Index>(all.tokens.size()));
      all.tokens.insert(all.tokens.end(), batch.tokens.data, batch.tokens.data + batch.tokens.size);
      all.targets.insert(all.targets.end(), batch.targets.data, batch.targets.data + batch.targets.size);
    }
  }
  return all;
}

template <typename Order>
void same_for_any_ranks(Order order, Index step) {
  std::vector<std::int32_t> const tokens = counting(2000);
  TokenView const text{std::span<std::int32_t const>(tokens)};
  BatchShape shape{.context = 8, .global_batch = 72};
  Step const expected = whole_step(text, shape, order, step);
  REQUIRE_EQ(expected.tokens.size(), 8U * 72U);
  for (int ranks : {1, 2, 3, 4, 8}) {
    for (Index micro_batches : {1, 3}) {
      shape.ranks = ranks;
      shape.micro_batches = micro_batches;
      CHECK(whole_step(text, shape, order, step) == expected);
    }
  }
}

} // namespace

TEST_CASE("Any number of ranks and micro-batches shares out the same step") {
  same_for_any_ranks(RandomWindows{3}, 11);
  same_for_any_ranks(SequentialWindows{}, 2);
  same_for_any_ranks(EveryWindow{}, 3); // the last step, filled up
}

TEST_CASE("Targets are the next tokens, within a sequence and at its end") {
  std::vector<std::int32_t> const tokens = counting(50);
  RandomBatches batches({std::span<std::int32_t const>(tokens)}, {.context = 7, .global_batch = 5}, {.seed = 2});
  for (Index step = 0; step != 100; ++step) {
    Batch const batch = batches.read(step);
    REQUIRE_EQ(batch.targets.size, batch.tokens.size);
    for (Index i = 0; i != batch.tokens.size; ++i) {
      CHECK_EQ(batch.targets.data[i], batch.tokens.data[i] + 1);
      CHECK_EQ(batch.tokens.data[i], batch.tokens.data[i / 7 * 7] + i % 7);
    }
  }
}

TEST_CASE("Sequential batches walk the reference's tokens as its README says, to the end") {
  TokenFile const file(testing::reference_file("tokens.u16"));
  SequentialBatches batches(file, {.context = 64, .global_batch = 8});
  REQUIRE_EQ(batches.steps(), 20);
  for (Index step = 0; step != 20; ++step) {
    Batch const batch = batches.read(step);
    for (Index i = 0; i != 512; ++i) {
      CHECK_EQ(batch.tokens.data[i], file[512 * step + i]);
      CHECK_EQ(batch.targets.data[i], file[512 * step + i + 1]);
    }
  }
  CHECK(contains(error_text<InvalidArgument>([&] { batches.read(20); }), "found step 20"));
}

TEST_CASE("Validation takes each target once, and ignores what fills up the last step") {
  std::vector<std::int32_t> const tokens = counting(10 * 13 + 1);
  ValidationBatches batches({std::span<std::int32_t const>(tokens)}, {.context = 10, .global_batch = 4});
  std::vector<std::int32_t> targets;
  Index ignored = 0;
  for (Index step = 0; step != batches.steps(); ++step) {
    Batch const batch = batches.read(step);
    for (Index i = 0; i != batch.targets.size; ++i) {
      std::int32_t const target = batch.targets.data[i];
      target == ignored_target ? static_cast<void>(++ignored) : targets.push_back(target);
    }
  }
  CHECK_EQ(ignored, 3 * 10);
  std::vector<std::int32_t> const all = counting(10 * 13 + 1);
  CHECK(targets == std::vector<std::int32_t>(all.begin() + 1, all.end()));
}

TEST_CASE("Reading a step allocates no other buffer, and leaves other micro-batches alone") {
  std::vector<std::int32_t> const tokens = counting(100);
  RandomBatches batches({std::span<std::int32_t const>(tokens)}, {.context = 5, .global_batch = 4, .micro_batches = 2},
                        {.seed = 1});
  Batch const first = batches.read(0, 0);
  std::vector<std::int32_t> const before(first.tokens.data, first.tokens.data + first.tokens.size);
  Batch const second = batches.read(0, 1);
  CHECK_EQ(second.tokens.data, first.tokens.data + first.tokens.size);
  CHECK(std::equal(before.begin(), before.end(), first.tokens.data));
  CHECK_EQ(batches.read(1, 0).tokens.data, first.tokens.data);
}

TEST_CASE("Explicit starts pick the windows") {
  std::vector<std::int32_t> const tokens = counting(30);
  WindowBuffers buffers({std::span<std::int32_t const>(tokens)}, 4, 3);
  std::vector<Index> const starts{25, 0, no_window};
  Batch const batch = buffers.fill(0, starts);
  CHECK_EQ(batch.tokens.data[0], 25);
  CHECK_EQ(batch.targets.data[3], 29);
  CHECK_EQ(batch.tokens.data[4], 0);
  CHECK_EQ(batch.targets.data[8], ignored_target);
  CHECK_THROWS_AS(buffers.fill(0, 26), InvalidArgument); // its last target lies beyond the end
}

TEST_CASE("Batches that do not divide and texts that are too short are refused in one sentence") {
  std::vector<std::int32_t> const tokens = counting(65);
  TokenView const text(std::span<std::int32_t const>(tokens), "short.txt");
  auto const refusal = [&](BatchShape shape) {
    return error_text<InvalidArgument>([&] { SequentialBatches(text, shape); });
  };
  CHECK_EQ(refusal({.context = 64, .global_batch = 8}), "");
  CHECK(contains(refusal({.context = 65, .global_batch = 8}), "at least 66 tokens"));
  CHECK(contains(refusal({.context = 65, .global_batch = 8}), "short.txt"));
  CHECK(contains(refusal({.context = 8, .global_batch = 8, .ranks = 3}), "multiple of 3"));
  CHECK(contains(refusal({.context = 8, .global_batch = 8, .ranks = 4, .micro_batches = 4}), "multiple of 16"));
  CHECK(contains(refusal({.context = 8, .global_batch = 4, .ranks = 8}), "fewer ranks"));
  CHECK(contains(refusal({.context = 0, .global_batch = 8}), "context 0"));
  CHECK(contains(refusal({.context = 8, .global_batch = 8, .ranks = 2, .rank = 2}), "rank 2 of 2"));
  SequentialBatches batches(text, {.context = 8, .global_batch = 8});
  CHECK_THROWS_AS(batches.read(-1), InvalidArgument);
  CHECK_THROWS_AS(batches.read(0, 1), InvalidArgument);
}
