#include <cleave/layers/layer_norm.hpp>

#include <cmath>

#include <doctest/doctest.h>

#include "../support/gradient_error.hpp"
#include "../support/layer_run.hpp"

using namespace cleave;

static_assert(LayerNorm<4>::parameters[0].initialiser == init::ones() &&
              LayerNorm<4>::parameters[1].initialiser == init::zeros());

// A row of one feature is constant: its derivative is zero. Rows of two are all but constant, so a large epsilon keeps
// differences smooth.
TEST_CASE_TEMPLATE("layer norm's backward is the derivative of its forward", L, LayerNorm<1>, LayerNorm<2, 0.1>,
                   LayerNorm<7>, LayerNorm<33>) {
  CHECK_LT(testing::gradient_error<L>(), testing::gradient_tolerance);
}

TEST_CASE("rows have mean 0 and variance 1 before gain and bias, whatever their offset and size") {
  constexpr int width = 40;
  auto run = testing::random_run<LayerNorm<width>>({2, 3});
  for (std::size_t i = 0; i != run.input.size(); ++i) {
    run.input[i] = 100 + 7 * run.input[i];
  }
  for (std::size_t i = 0; i != run.weights.size(); ++i) {
    run.weights[i] = i < width ? 2 : 3;
  }
  auto const y = testing::run_layer<double>(run).y;
  for (std::size_t row = 0; row != 6; ++row) {
    double mean = 0;
    double square = 0;
    for (std::size_t c = 0; c != width; ++c) {
      double const normal = (y[row * width + c] - 3) / 2;
      mean += normal / width;
      square += normal * normal / width;
    }
    CHECK_LT(std::abs(mean), 1e-12);
    CHECK_LT(std::abs(square - 1), 1e-5); // epsilon is added to the variance
  }
}

TEST_CASE("layer norm in float and bfloat16 is near double") {
  auto const errors = testing::compare_types(testing::random_run<LayerNorm<65>>({3, 5}));
  CHECK_LT(errors.single, 1e-6);
  CHECK_LT(errors.half, 0.01);
}
