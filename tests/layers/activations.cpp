#include <cleave/layers/activations.hpp>

#include <cmath>

#include <doctest/doctest.h>

#include "../support/gradient_error.hpp"
#include "../support/layer_run.hpp"

using namespace cleave;

static_assert(parameter_count<Gelu> == 0 && Gelu::inputs == any_width && Gelu::outputs == any_width);

TEST_CASE_TEMPLATE("an activation's backward is the derivative of its forward, at any width", L, Gelu, GeluExact, Relu,
                   Silu, Tanh, Sigmoid) {
  for (int const columns : {1, 7, 32}) {
    CHECK_LT(testing::gradient_error<L>({.columns = columns}), testing::gradient_tolerance);
  }
}

TEST_CASE_TEMPLATE("an activation in float and bfloat16 is near double", L, Gelu, GeluExact, Relu, Silu, Tanh,
                   Sigmoid) {
  auto const errors = testing::compare_types(testing::random_run<L>({7, 5}));
  CHECK_LT(errors.single, 1e-6);
  CHECK_LT(errors.half, 0.01);
}

namespace {

template <typename L>
std::vector<double> values(std::vector<double> x) {
  testing::LayerRun<L> run{.shape = {1, 1}, .columns = static_cast<int>(x.size())};
  run.dy = x;
  run.input = std::move(x);
  return testing::run_layer<double>(run).y;
}

} // namespace

TEST_CASE("activations are the functions they are named after") {
  std::vector<double> const x{-30, -2, -0.5, 0, 0.25, 3, 30};
  for (std::size_t i = 0; i != x.size(); ++i) {
    double const t = x[i];
    double const sigmoid = 1 / (1 + std::exp(-t));
    CHECK_EQ(values<Relu>(x)[i], std::max(t, 0.0));
    CHECK_EQ(values<Tanh>(x)[i], doctest::Approx(std::tanh(t)));
    CHECK_EQ(values<Sigmoid>(x)[i], doctest::Approx(sigmoid));
    CHECK_EQ(values<Silu>(x)[i], doctest::Approx(t * sigmoid));
    CHECK_EQ(values<GeluExact>(x)[i], doctest::Approx(t * 0.5 * std::erfc(-t / std::sqrt(2.0))));
    CHECK_EQ(values<Gelu>(x)[i],
             doctest::Approx(0.5 * t * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (t + 0.044715 * t * t * t)))));
  }
}
