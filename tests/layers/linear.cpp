#include <cleave/layers/linear.hpp>

#include <doctest/doctest.h>

#include "../support/gradient_error.hpp"
#include "../support/layer_run.hpp"

using namespace cleave;
using testing::gradient_tolerance;

namespace {
constexpr LinearOptions plain{.bias = false};
constexpr LinearOptions conv1d{.layout = WeightLayout::in_out};
constexpr LinearOptions conv1d_plain{.bias = false, .layout = WeightLayout::in_out};
} // namespace

static_assert(Linear<3, 5>::parameters[0].shape == Extents{5, 3} && Linear<3, 5>::parameters[1].shape == Extents{5});
static_assert(Linear<3, 5, conv1d>::parameters[0].shape == Extents{3, 5});
static_assert(parameter_count<Linear<3, 5>> == 2 && parameter_count<Linear<3, 5, plain>> == 1);
static_assert(Linear<16, 5>::parameters[0].initialiser == init::uniform(0.25) &&
              Linear<16, 5>::parameters[1].initialiser == init::uniform(0.25));
static_assert(Linear<16, 5, LinearOptions{.deviation = 0.02}>::parameters[0].initialiser == init::normal(0.02) &&
              Linear<16, 5, LinearOptions{.deviation = 0.02}>::parameters[1].initialiser == init::zeros());

TEST_CASE_TEMPLATE("a linear layer's backward is the derivative of its forward", L, Linear<1, 1>, Linear<4, 3>,
                   Linear<3, 7, plain>, Linear<5, 2, conv1d>, Linear<2, 9, conv1d_plain>) {
  CHECK_LT(testing::gradient_error<L>(), gradient_tolerance);
}

TEST_CASE("a linear layer is x W^T + b, and the layouts hold the same weight transposed") {
  testing::LayerRun<Linear<2, 3>> run{.shape = {1, 2}};
  run.weights = {1, 2, 3, 4, 5, 6, 10, 20, 30};
  run.input = {1, 0, 1, -1};
  run.dy = {0, 0, 0, 1, 0, 0};
  std::vector<double> const expected{11, 23, 35, 9, 19, 29};
  CHECK_EQ(testing::run_layer<double>(run).y, expected);

  testing::LayerRun<Linear<2, 3, conv1d>> other{.shape = {1, 2}};
  other.weights = {1, 3, 5, 2, 4, 6, 10, 20, 30};
  other.input = run.input;
  other.dy = run.dy;
  CHECK_EQ(testing::run_layer<double>(other).y, expected);
  CHECK_EQ(testing::run_layer<double>(other).dx, testing::run_layer<double>(run).dx);
}

TEST_CASE_TEMPLATE("a linear layer in float and bfloat16 is near double", L, Linear<33, 17>, Linear<33, 17, conv1d>) {
  auto const errors = testing::compare_types(testing::random_run<L>({3, 5}));
  CHECK_LT(errors.single, 1e-6);
  CHECK_LT(errors.half, 0.01);
}
