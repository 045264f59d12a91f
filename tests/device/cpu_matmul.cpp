#include <cleave/device/cpu.hpp>

#include <random>

#include <doctest/doctest.h>

#include "../support/tensors.hpp"

namespace cleave::testing {
namespace {

struct Product {
  Index rows;
  Index columns;
  Index inner;
  op::MatMul op;
  bool bias;
  Index padding;
};

/// Runs one product, and returns its error in roundings of O for each term of the sums.
template <typename O, typename T>
double error_of_product(device::Cpu::Stream& stream, Product const& p, std::mt19937& engine) {
  auto const a = p.op.transpose_a ? random_tensor<T>(engine, p.inner, p.rows, p.padding)
                                  : random_tensor<T>(engine, p.rows, p.inner, p.padding);
  auto const b = p.op.transpose_b ? random_tensor<T>(engine, p.columns, p.inner, p.padding)
                                  : random_tensor<T>(engine, p.inner, p.columns, p.padding);
  auto const bias = random_tensor<T>(engine, 1, p.columns);
  auto c = random_tensor<O>(engine, p.rows, p.columns, p.padding);
  auto const before = c;
  stream.run(p.op, c.view(), a.view(), b.view(), p.bias ? bias.vector() : Vector<T const>{});
  CHECK(c.gaps_untouched());
  return error_of(c,
                  [&](Index i, Index j) {
                    double sum = p.op.accumulate ? before.at(i, j) : (p.bias ? bias.at(0, j) : 0);
                    for (Index k = 0; k != p.inner; ++k) {
                      sum +=
                          (p.op.transpose_a ? a.at(k, i) : a.at(i, k)) * (p.op.transpose_b ? b.at(j, k) : b.at(k, j));
                    }
                    return sum;
                  }) /
         static_cast<double>(4 + p.inner);
}

Product random_product(std::mt19937& engine, Index most) {
  std::uniform_int_distribution<Index> extent(1, most);
  std::bernoulli_distribution coin;
  bool const accumulate = coin(engine);
  return {extent(engine),
          extent(engine),
          extent(engine),
          {coin(engine), coin(engine), accumulate},
          !accumulate && coin(engine),
          coin(engine) ? 3 : 0};
}

} // namespace

TEST_CASE_TEMPLATE("a matrix product equals its definition, for all transposes, strides and epilogues", T, float,
                   double, bfloat16) {
  std::mt19937 engine(1);
  for (int threads : {1, 2}) {
    device::Cpu::Stream stream({.threads = threads});
    for (int trial = 0; trial != 60; ++trial) {
      Product const p = random_product(engine, trial < 40 ? 70 : 300);
      CAPTURE(p.rows);
      CAPTURE(p.columns);
      CAPTURE(p.inner);
      CHECK_LT(error_of_product<T, T>(stream, p, engine), 2);
      CHECK_LT(error_of_product<accumulator_t<T>, T>(stream, p, engine), 2);
    }
  }
}

TEST_CASE("a matrix product of one row, one column or one term is no special case") {
  std::mt19937 engine(2);
  device::Cpu::Stream stream;
  for (Index rows : {1, 65}) {
    for (Index columns : {1, 130}) {
      for (Index inner : {1, 700}) {
        Product const p{rows, columns, inner, {}, true, 1};
        CHECK_LT(error_of_product<float, float>(stream, p, engine), 2);
        CHECK_LT(error_of_product<bfloat16, bfloat16>(stream, p, engine), 2);
      }
    }
  }
}

TEST_CASE("a matrix product reads nothing of what it overwrites") {
  device::Cpu::Stream stream;
  Tensor<float> c(5, 7);
  std::fill_n(c.view().data, 35, std::numeric_limits<float>::quiet_NaN());
  std::mt19937 engine(3);
  auto const a = random_tensor<float>(engine, 5, 3);
  auto const b = random_tensor<float>(engine, 3, 7);
  stream.run(op::MatMul{}, c.view(), a.view(), b.view(), Vector<float const>{});
  CHECK_LT(
      error_of(c, [&](Index i,
                      Index j) { return a.at(i, 0) * b.at(0, j) + a.at(i, 1) * b.at(1, j) + a.at(i, 2) * b.at(2, j); }),
      10);
}

} // namespace cleave::testing
