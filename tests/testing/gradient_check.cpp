#include <cleave/testing/gradient_check.hpp>

#include <array>

#include <doctest/doctest.h>

#include <cleave/layers/activations.hpp>
#include <cleave/layers/cross_entropy.hpp>
#include <cleave/layers/linear.hpp>

#include "../support/layer_run.hpp"

using namespace cleave;

namespace {

/// Mistakes that people make.
enum class Mistake { none, wrong_factor, forgets_dx, overwrites, needs_dx, divides_by_zero };

/// y = gain * x for one gain, with a mistake in backward.
template <Mistake M>
struct Scale {
  static constexpr int inputs = 1;
  static constexpr int outputs = 1;
  static constexpr std::array parameters{Parameter{"gain", {1, 1}, init::ones()}};

  template <typename T>
  struct Saved {
    Matrix<T const> input;
  };

  template <typename P>
  static constexpr void forward(P& pass, WeightsOf<P> weights, InputOf<P> x, OutputOf<P> y, Saved<ScalarOf<P>>& saved) {
    saved.input = x;
    pass.run(op::MatMul{}, y, x, weights.matrix(0, 1, 1), Vector<ScalarOf<P> const>{});
  }
  template <typename P>
  static constexpr void backward(P& pass, WeightsOf<P> weights, GradientsOf<P> gradients,
                                 Saved<ScalarOf<P>> const& saved, InputOf<P> dy, OutputOf<P> dx) {
    Vector<ScalarOf<P> const> const none{};
    if (M != Mistake::needs_dx || dx.wanted()) {
      pass.run(op::MatMul{.transpose_a = true, .accumulate = M != Mistake::overwrites}, gradients.matrix(0, 1, 1), dy,
               saved.input, none);
    }
    if (dx.wanted() && M != Mistake::forgets_dx) {
      pass.run(op::MatMul{}, dx, dy, weights.matrix(0, 1, 1), none);
    }
    if (dx.wanted() && M == Mistake::wrong_factor) {
      pass.run(op::Add{}, dx, InputOf<P>(dx), dy);
    }
    if (dx.wanted() && M == Mistake::divides_by_zero) {
      pass.run(op::Fill{std::numeric_limits<double>::quiet_NaN()}, dx.row(0));
    }
  }
};

/// CrossEntropy whose gradient is Factor times too large, or whose value is counted ValueFactor times in one of two
/// ways.
template <double Factor, double ValueFactor>
struct WrongLoss : CrossEntropy<3> {
  template <typename P>
  static constexpr void value_and_gradient(P& pass, WeightsOf<P> w, GradientsOf<P> g, InputOf<P> x, Tokens targets,
                                           double scale, OutputOf<P> dx, double* sum) {
    CrossEntropy<3>::value_and_gradient(pass, w, g, x, targets, scale * Factor, dx, sum);
    if (ValueFactor == 2) {
      CrossEntropy<3>::value(pass, w, x, targets, sum);
    }
  }
};

} // namespace

TEST_CASE("a right layer passes") {
  auto const errors = testing::check_gradient<Scale<Mistake::none>>();
  CHECK_LT(errors.input, 1e-9);
  CHECK_LT(errors.parameters, 1e-9);
}

TEST_CASE("a wrong derivative is caught, and only where it is wrong") {
  auto const wrong_input = testing::check_gradient<Scale<Mistake::wrong_factor>>();
  CHECK_GT(wrong_input.input, 0.1);
  CHECK_LT(wrong_input.parameters, 1e-9);
  CHECK_GT(testing::check_gradient<Scale<Mistake::forgets_dx>>().input, 1e6);
  CHECK_GT(testing::check_gradient<Scale<Mistake::divides_by_zero>>().input, 1e6);
}

TEST_CASE("a gradient that is not added, or only when dx is wanted, is caught") {
  CHECK_GT(testing::check_gradient<Scale<Mistake::overwrites>>().parameters, 0.01);
  CHECK_GT(testing::check_gradient<Scale<Mistake::needs_dx>>().parameters, 0.01);
}

TEST_CASE("a loss whose gradient or value is wrong is caught") {
  CHECK_LT(testing::worst(testing::check_loss_gradient<WrongLoss<1.0, 1.0>>()), 1e-7);
  CHECK_GT(testing::check_loss_gradient<WrongLoss<1.5, 1.0>>().input, 0.01);
  CHECK_GT(testing::check_loss_gradient<WrongLoss<1.0, 2.0>>().value, 0.01);
}

TEST_CASE("the same seed gives the same errors, another seed other numbers") {
  auto const error = [](std::uint64_t seed) { return testing::check_gradient<Tanh>({.seed = seed}).input; };
  CHECK_EQ(error(1), error(1));
  CHECK_NE(error(1), error(2));
}
