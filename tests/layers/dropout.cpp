#include <cleave/layers/dropout.hpp>

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include <cleave/layers/sequential.hpp>

#include "../support/gradient_error.hpp"
#include "../support/layer_run.hpp"

using namespace cleave;

namespace {

/// A Dropout over ones: what comes out is the mask.
template <typename L = Dropout>
testing::LayerRun<L> over_ones(Shape shape, double probability, int columns = 64) {
  testing::LayerRun<L> run{.shape = shape, .columns = columns, .dropout = probability};
  run.input.assign(static_cast<std::size_t>(shape.rows() * columns), 1);
  run.dy = run.input;
  return run;
}

double mean(std::vector<double> const& values) {
  double sum = 0;
  for (double const value : values) {
    sum += value;
  }
  return sum / static_cast<double>(values.size());
}

} // namespace

TEST_CASE("dropout's backward is the derivative of its forward") {
  for (double const probability : {0.0, 0.1, 0.9}) {
    CHECK_LT(testing::gradient_error<Dropout>({.dropout = probability}), testing::gradient_tolerance);
  }
}

TEST_CASE("an element is zero with the probability given, else divided by the rest, so the mean stays") {
  for (double const probability : {0.1, 0.5, 0.9}) {
    auto const result = testing::run_layer<double>(over_ones({100, 10}, probability));
    double const kept = 1 / (1 - probability);
    CHECK(std::all_of(result.y.begin(), result.y.end(),
                      [&](double value) { return value == 0 || value == doctest::Approx(kept); }));
    // Five standard deviations of the mean of 64,000 elements.
    double const deviation = std::sqrt(probability / (1 - probability) / 64000);
    CHECK_LT(std::abs(mean(result.y) - 1), 5 * deviation);
    CHECK_EQ(result.dx, result.y); // the same mask
  }
}

TEST_CASE("with probability 0, and in evaluation, dropout is the identity") {
  auto run = testing::random_run<Dropout>({3, 5});
  CHECK_EQ(testing::run_layer<double>(run).y, run.input);
  run.dropout = 0.5;
  CHECK_NE(testing::run_layer<double>(run).y, run.input);
  run.training = false;
  CHECK_EQ(testing::run_layer<double>(run).y, run.input);
  CHECK_EQ(testing::run_layer<double>(run).dx, run.dy);
}

TEST_CASE("a mask belongs to the row of the global batch: parts of a batch have the parts of its mask") {
  auto const whole = testing::run_layer<double>(over_ones({9, 7}, 0.5)).y;
  std::vector<double> joined;
  for (Index first = 0; first != 9; first += 3) {
    auto part = over_ones({3, 7}, 0.5);
    part.first_row = first * 7;
    auto const mask = testing::run_layer<double>(part).y;
    joined.insert(joined.end(), mask.begin(), mask.end());
  }
  CHECK_EQ(joined, whole);
}

TEST_CASE("each Dropout of a model, and each step, has a mask of its own") {
  auto run = over_ones({10, 10}, 0.5);
  auto const first = testing::run_layer<double>(run);
  CHECK_EQ(first.draws, 1);
  run.key = 2;
  CHECK_NE(testing::run_layer<double>(run).y, first.y);

  // Two in a row: were their masks the same, half of the elements would be left, not a quarter.
  auto const both = testing::run_layer<double>(over_ones<Sequential<Dropout, Dropout>>({10, 10}, 0.5));
  CHECK_EQ(both.draws, 2);
  double kept = 0;
  for (double const value : both.y) {
    kept += value != 0 ? 1 : 0;
  }
  CHECK_EQ(kept / 6400, doctest::Approx(0.25).epsilon(0.1));
}

TEST_CASE("dropout has the same mask in every type") {
  auto run = over_ones({4, 4}, 0.5);
  CHECK_EQ(testing::run_layer<float>(run).y, testing::run_layer<double>(run).y);
  CHECK_EQ(testing::run_layer<bfloat16>(run).y, testing::run_layer<double>(run).y);
}
