#include <cleave/device/cpu.hpp>

#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "../support/tensors.hpp"

namespace cleave::testing {
namespace {

std::vector<std::int32_t> random_tokens(std::mt19937& engine, Index count, Index vocabulary) {
  std::uniform_int_distribution<std::int32_t> token(0, static_cast<std::int32_t>(vocabulary - 1));
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(count));
  for (auto& value : tokens) {
    value = token(engine);
  }
  return tokens;
}

Tokens view(std::vector<std::int32_t> const& tokens) { return {tokens.data(), static_cast<Index>(tokens.size())}; }

} // namespace

TEST_CASE_TEMPLATE("Embedding looks rows up, and its gradient adds them back", T, float, double, bfloat16) {
  using G = accumulator_t<T>;
  std::mt19937 engine(31);
  for (int threads : {1, 2}) {
    device::Cpu::Stream stream({.threads = threads});
    for (Index columns : {1, 65, 200}) {
      auto const tokens = random_tokens(engine, 300, 17); // some often, so that their order matters
      auto const table = random_tensor<T>(engine, 17, columns, 1);
      Tensor<T> y(300, columns, 2);
      stream.run(op::Embedding{}, y.view(), table.view(), view(tokens));
      CHECK_EQ(error_of(y, [&](Index r, Index c) { return table.at(tokens[static_cast<std::size_t>(r)], c); }), 0);
      CHECK(y.gaps_untouched());
      auto const dy = random_tensor<T>(engine, 300, columns, 3);
      auto dtable = random_tensor<G>(engine, 17, columns, 1);
      auto expected = dtable;
      stream.run(op::EmbeddingGradient{}, dtable.view(), dy.view(), view(tokens));
      for (Index r = 0; r != 300; ++r) {
        for (Index c = 0; c != columns; ++c) {
          expected(tokens[static_cast<std::size_t>(r)], c) += static_cast<G>(dy.at(r, c));
        }
      }
      CHECK(dtable.storage() == expected.storage()); // to the bit: added in order of rows
    }
  }
}

TEST_CASE_TEMPLATE("AddPositions adds a row for each position, and its gradient adds them back", T, float, double,
                   bfloat16) {
  using G = accumulator_t<T>;
  std::mt19937 engine(32);
  for (int threads : {1, 2}) {
    device::Cpu::Stream stream({.threads = threads});
    for (Index columns : {1, 65, 200}) {
      op::AddPositions const op{60};
      auto const x = random_tensor<T>(engine, 5 * 60, columns, 1);
      auto const table = random_tensor<T>(engine, 70, columns, 2);
      auto y = x;
      stream.run(op, y.view(), y.view(), table.view());
      CHECK_LT(error_of(y, [&](Index r, Index c) { return x.at(r, c) + table.at(r % 60, c); }), 1.01);
      CHECK(y.gaps_untouched());
      auto dtable = random_tensor<G>(engine, 70, columns, 2);
      auto expected = dtable;
      stream.run(op::AddPositionsGradient{60}, dtable.view(), x.view());
      for (Index r = 0; r != 5 * 60; ++r) {
        for (Index c = 0; c != columns; ++c) {
          expected(r % 60, c) += static_cast<G>(x.at(r, c));
        }
      }
      CHECK(dtable.storage() == expected.storage());
    }
  }
}

} // namespace cleave::testing
