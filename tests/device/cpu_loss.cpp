#include <cleave/device/cpu.hpp>

#include <cmath>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "../support/tensors.hpp"

namespace cleave::testing {
namespace {

template <typename T>
double log_sum_exp(Tensor<T> const& x, Index r) {
  double top = x.at(r, 0);
  for (Index c = 0; c != x.columns(); ++c) {
    top = std::fmax(top, x.at(r, c));
  }
  double sum = 0;
  for (Index c = 0; c != x.columns(); ++c) {
    sum += std::exp(x.at(r, c) - top);
  }
  return top + std::log(sum);
}

} // namespace

TEST_CASE_TEMPLATE(
    "CrossEntropy equals -log softmax, its gradient softmax - onehot, and ignored rows count for nothing", T, float,
    double, bfloat16) {
  std::mt19937 engine(41);
  for (Index columns : {1, 2, 63, 200, 9001}) {
    Index const rows = columns > 1000 ? 7 : 1100;
    auto const x = random_tensor<T>(engine, rows, columns, 1, 5);
    std::uniform_int_distribution<std::int32_t> any(0, static_cast<std::int32_t>(columns - 1));
    std::vector<std::int32_t> targets(static_cast<std::size_t>(rows));
    double expected = 2;
    for (Index r = 0; r != rows; ++r) {
      auto& target = targets[static_cast<std::size_t>(r)] = r % 5 == 3 ? ignored_target : any(engine);
      expected += target == ignored_target ? 0 : log_sum_exp(x, r) - x.at(r, target);
    }
    double losses[2] = {2, 2};
    for (int threads : {1, 2}) {
      device::Cpu::Stream stream({.threads = threads});
      Vector<std::int32_t const> const view{targets.data(), rows};
      auto logits = x;
      stream.run(op::CrossEntropy{}, &losses[threads - 1], logits.view(), view);
      CHECK(std::ranges::equal(
          logits.storage(), x.storage(), {}, [](T a) { return static_cast<double>(a); },
          [](T a) { return static_cast<double>(a); }));
      double again = 2;
      stream.run(op::CrossEntropy{true, 0.25}, &again, logits.view(), view);
      CHECK_EQ(again, losses[threads - 1]);
      CHECK_LT(error_of(logits,
                        [&](Index r, Index c) {
                          auto const target = targets[static_cast<std::size_t>(r)];
                          return target == ignored_target
                                     ? 0
                                     : 0.25 * (std::exp(x.at(r, c) - log_sum_exp(x, r)) - (c == target ? 1 : 0));
                        }),
               20);
      CHECK(logits.gaps_untouched());
    }
    CHECK_EQ(losses[0], losses[1]);
    CHECK_LT(std::fabs(losses[0] / expected - 1), std::is_same_v<T, double> ? 1e-14 : 1e-7);
  }
}

TEST_CASE("CrossEntropy survives logits that overflow an exponential") {
  device::Cpu::Stream stream;
  Tensor<float> x(1, 3);
  x(0, 0) = 1000;
  x(0, 1) = 999;
  x(0, 2) = -1000;
  std::vector<std::int32_t> const target{1};
  double loss = 0;
  stream.run(op::CrossEntropy{true, 1}, &loss, x.view(), Vector<std::int32_t const>{target.data(), 1});
  CHECK_LT(std::fabs(loss - (1 + std::log1p(std::exp(-1)))), 1e-6);
  CHECK_LT(std::fabs(x.at(0, 0) - 1 / (1 + std::exp(-1))), 1e-4); // logits of 1000 have 6e-5 between them
  CHECK_EQ(x(0, 2), 0.0F);
}

TEST_CASE_TEMPLATE("SquaredError adds up the squares of the differences, and doubles them as a gradient", T, float,
                   double, bfloat16) {
  std::mt19937 engine(42);
  for (Index columns : {1, 64, 100}) {
    auto const y = random_tensor<T>(engine, 1500, columns, 1);
    auto const targets = random_tensor<T>(engine, 1500, columns, 2);
    double expected = 1;
    for (Index r = 0; r != 1500; ++r) {
      for (Index c = 0; c != columns; ++c) {
        expected += (y.at(r, c) - targets.at(r, c)) * (y.at(r, c) - targets.at(r, c));
      }
    }
    double losses[3] = {1, 1, 1};
    for (int threads : {1, 2}) {
      device::Cpu::Stream stream({.threads = threads});
      Tensor<T> dy(1500, columns, 3);
      stream.run(op::SquaredError{0.5}, &losses[threads], dy.view(), y.view(), targets.view());
      stream.run(op::SquaredError{0.5}, &losses[0], Matrix<T>{}, y.view(), targets.view());
      CHECK_LT(error_of(dy, [&](Index r, Index c) { return y.at(r, c) - targets.at(r, c); }), 2);
      CHECK(dy.gaps_untouched());
    }
    CHECK_EQ(losses[1], losses[2]);
    CHECK_LT(std::fabs(losses[1] / expected - 1), 1e-12);
    CHECK_LT(std::fabs(losses[0] / (2 * expected - 1) - 1), 1e-12);
  }
}

} // namespace cleave::testing
