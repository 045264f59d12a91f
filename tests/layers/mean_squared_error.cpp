#include <cleave/layers/mean_squared_error.hpp>

#include <doctest/doctest.h>

#include "../support/gradient_error.hpp"
#include "../support/loss_run.hpp"

using namespace cleave;

static_assert(loss_layer<MeanSquaredError<3>> && parameter_count<MeanSquaredError<3>> == 0);

TEST_CASE_TEMPLATE("the squared error's gradient is the derivative of its value", L, MeanSquaredError<1>,
                   MeanSquaredError<7>) {
  CHECK_LT(testing::gradient_error<L>(), testing::gradient_tolerance);
}

TEST_CASE_TEMPLATE("the squared error is a sum over all elements, in every type", T, float, double, bfloat16) {
  testing::LossRun<MeanSquaredError<2>> run{.rows = 2, .scale = 0.5, .input = {1, 2, 3, 4}, .targets = {1, 0, 5, 3}};
  auto const result = testing::run_loss<T>(run);
  CHECK_EQ(result.value, 9);
  CHECK_EQ(result.trained_value, 9);
  CHECK_EQ(result.dx, std::vector<double>{0, 2, -2, 1});
  CHECK_EQ(result.high_water, 0);
}
