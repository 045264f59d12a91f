#include <cleave/device/cpu.hpp>

#include <cmath>
#include <random>

#include <doctest/doctest.h>

#include <cleave/core/parameter.hpp>
#include <cleave/core/random.hpp>

#include "../support/tensors.hpp"

namespace cleave::testing {
namespace {

bool dropped(std::uint64_t element, op::Dropout const& op) {
  std::uint64_t const counter = element / 4;
  auto const words =
      philox({static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32U), 0, 0}, op.key);
  return uniform(words[element % 4]) < op.probability;
}

} // namespace

TEST_CASE_TEMPLATE("Dropout zeroes or scales each element by its place in the global batch", T, float, double,
                   bfloat16) {
  std::mt19937 engine(11);
  for (Index columns : {1, 3, 64, 130}) {
    for (double probability : {0.0, 0.1, 0.75, 1.0}) {
      device::Cpu::Stream stream({.threads = 2});
      op::Dropout const op{0x1234567890abcdefU, probability, (Index{1} << 33) + 5};
      auto const x = random_tensor<T>(engine, 300, columns, 1);
      Tensor<T> y(300, columns, 2);
      stream.run(op, y.view(), x.view());
      auto const expected = [&](Index r, Index c) {
        auto const element = static_cast<std::uint64_t>((op.first_row + r) * columns + c);
        return dropped(element, op) ? 0 : x.at(r, c) / (1 - probability);
      };
      CHECK_LT(error_of(y, expected), 2);
      CHECK(y.gaps_untouched());
      // Any slice of rows, in place: the same mask.
      op::Dropout later = op;
      later.first_row += 123;
      auto z = x;
      stream.run(later, z.view().row_slice(123, 7), z.view().row_slice(123, 7));
      CHECK_LT(error_of(z, [&](Index r, Index c) { return r >= 123 && r < 130 ? expected(r, c) : x.at(r, c); }), 2);
    }
  }
}

TEST_CASE("Dropout drops as often as it says") {
  device::Cpu::Stream stream;
  Tensor<float> x(1000, 100);
  stream.run(op::Fill{1.0}, x.vector());
  stream.run(op::Dropout{42, 0.3, 0}, x.view(), x.view());
  double zeros = 0;
  for (float const value : x.storage()) {
    zeros += value == 0 ? 1 : 0;
  }
  CHECK_LT(std::fabs(zeros / 1e5 - 0.3), 0.006); // four deviations
}

TEST_CASE("a parameter's first values are the same from any slice, and depend on the key") {
  device::Cpu::Stream stream({.threads = 2});
  for (auto const kind : {Initialiser::Kind::normal, Initialiser::Kind::uniform, Initialiser::Kind::constant}) {
    op::Initialise const op{77, 0, static_cast<int>(kind), 0.5};
    Tensor<double> whole(1, 50000);
    stream.run(op, whole.vector());
    for (Index first : {0, 1, 4097, 33333}) {
      op::Initialise slice = op;
      slice.first = first;
      Tensor<double> part(1, 501);
      stream.run(slice, part.vector());
      CHECK_EQ(error_of(part, [&](Index, Index c) { return whole.at(0, first + c); }), 0);
    }
    op::Initialise other = op;
    other.key = 78;
    Tensor<double> different(1, 50000);
    stream.run(other, different.vector());
    CHECK_EQ(whole.storage() == different.storage(), kind == Initialiser::Kind::constant);
  }
}

TEST_CASE("first values have the mean, deviation and shape that was asked for") {
  device::Cpu::Stream stream;
  constexpr Index n = 200000;
  Tensor<float> x(1, n);
  auto const moment = [&](int power) {
    double sum = 0;
    for (float const value : x.storage()) {
      sum += std::pow(static_cast<double>(value), power);
    }
    return sum / static_cast<double>(n);
  };
  stream.run(op::Initialise{1, 0, static_cast<int>(Initialiser::Kind::normal), 0.02}, x.vector());
  CHECK_LT(std::fabs(moment(1)), 2e-4);
  CHECK_LT(std::fabs(moment(2) / 4e-4 - 1), 0.02);
  CHECK_LT(std::fabs(moment(4) / (3 * 1.6e-7) - 1), 0.05);
  double neighbours = 0; // the two of a pair, and two of different pairs, have nothing in common
  for (Index i = 0; i + 1 != n; ++i) {
    neighbours += x.at(0, i) * x.at(0, i + 1);
  }
  CHECK_LT(std::fabs(neighbours / static_cast<double>(n) / 4e-4), 0.01);
  stream.run(op::Initialise{2, 0, static_cast<int>(Initialiser::Kind::uniform), 3}, x.vector());
  CHECK_LT(std::fabs(moment(1)), 0.02);
  CHECK_LT(std::fabs(moment(2) - 3), 0.03);
  CHECK_LE(std::fabs(*std::max_element(x.storage().begin(), x.storage().end())), 3.0F);
  stream.run(op::Initialise{3, 0, static_cast<int>(Initialiser::Kind::constant), 0.25}, x.vector());
  CHECK_EQ(moment(1), 0.25);
  CHECK_EQ(moment(2), 0.0625);
}

} // namespace cleave::testing
