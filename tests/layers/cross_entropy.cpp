#include <cleave/layers/cross_entropy.hpp>

#include <algorithm>
#include <cmath>
#include <random>

#include <doctest/doctest.h>

#include "../support/gradient_error.hpp"
#include "../support/loss_run.hpp"

using namespace cleave;

namespace {

template <int ChunkRows>
using Output = OutputCrossEntropy<5, 7, 0.02, ChunkRows>;

/// Random rows and classes; each third target is ignored.
template <typename L>
testing::LossRun<L> random_loss(Index rows) {
  std::mt19937 engine(5);
  std::normal_distribution<double> normal(0, 1);
  testing::LossRun<L> run{.rows = rows, .scale = 0.5};
  run.weights.resize(parameter_count<L> == 0 ? 0 : static_cast<std::size_t>(L::inputs * L::outputs));
  run.input.resize(static_cast<std::size_t>(rows * L::inputs));
  std::generate(run.weights.begin(), run.weights.end(), [&] { return normal(engine); });
  std::generate(run.input.begin(), run.input.end(), [&] { return normal(engine); });
  for (Index r = 0; r != rows; ++r) {
    run.targets.push_back(r % 3 == 2 ? ignored_target
                                     : static_cast<double>(engine() % static_cast<unsigned>(L::outputs)));
  }
  return run;
}

} // namespace

static_assert(parameter_count<CrossEntropy<3>> == 0 && Output<1>::parameters[0].shape == Extents{7, 5});
static_assert(OutputCrossEntropy<5, 7>::parameters[0].initialiser == init::normal(0.02));

TEST_CASE_TEMPLATE("a cross-entropy's gradient is the derivative of its value, in the input and in the weight", L,
                   CrossEntropy<2>, CrossEntropy<9>, Output<1>, Output<3>, Output<5>, Output<128>,
                   OutputCrossEntropy<1, 2>) {
  for (int const ignore_every : {0, 1, 2, 3}) {
    CHECK_LT(testing::gradient_error<L>({.ignore_every = ignore_every}), testing::gradient_tolerance);
  }
}

TEST_CASE("the value is the sum of -log softmax at the targets") {
  testing::LossRun<CrossEntropy<3>> run{.rows = 2, .input = {0.5, -1, 2, 1000, 1000, -1000}, .targets = {2, 1}};
  double const first = std::log(std::exp(0.5) + std::exp(-1) + std::exp(2)) - 2;
  CHECK_EQ(testing::run_loss<double>(run).value, doctest::Approx(first + std::log(2)));
}

TEST_CASE_TEMPLATE("an ignored target has no loss and no gradient at all", L, CrossEntropy<7>, Output<2>) {
  auto run = random_loss<L>(8);
  auto const mixed = testing::run_loss<double>(run);
  for (std::size_t i = 0; i != run.input.size(); ++i) {
    bool const ignored = i / static_cast<std::size_t>(L::inputs) % 3 == 2;
    CHECK_EQ(mixed.dx[i] == 0, ignored);
    run.input[i] = ignored ? 100 - run.input[i] : run.input[i]; // so what stands there does not matter
  }
  auto const changed = testing::run_loss<double>(run);
  CHECK_EQ(changed.value, mixed.value);
  CHECK_EQ(changed.gradients, mixed.gradients);

  run.targets.assign(8, ignored_target);
  auto const none = testing::run_loss<double>(run);
  CHECK_EQ(none.value, 0);
  CHECK_EQ(none.trained_value, 0);
  CHECK(std::all_of(none.dx.begin(), none.dx.end(), [](double d) { return d == 0; }));
  CHECK(std::all_of(none.gradients.begin(), none.gradients.end(), [](double d) { return d == 0; }));
}

TEST_CASE_TEMPLATE("chunks change nothing: the input's gradient bit for bit, sums up to rounding", T, float, double,
                   bfloat16) {
  auto const whole = testing::run_loss<T>(random_loss<Output<128>>(11));
  auto const same = [&](auto const& found) {
    CHECK_EQ(found.value, doctest::Approx(whole.value).epsilon(1e-14));
    CHECK_EQ(found.trained_value, doctest::Approx(whole.value).epsilon(1e-14));
    CHECK_EQ(found.dx, whole.dx);
    CHECK_LT(testing::distance(found.gradients, whole.gradients), std::is_same_v<T, double> ? 1e-14 : 1e-6);
  };
  same(testing::run_loss<T>(random_loss<Output<1>>(11)));
  same(testing::run_loss<T>(random_loss<Output<4>>(11)));
  same(testing::run_loss<T>(random_loss<Output<11>>(11)));
}

TEST_CASE("the fused loss is the projection and then the loss, and holds one chunk of logits") {
  auto const run = random_loss<Output<4>>(9);
  testing::LossRun<CrossEntropy<7>> separate{.rows = 9, .targets = run.targets};
  for (Index r = 0; r != 9; ++r) {
    for (Index v = 0; v != 7; ++v) {
      double logit = 0;
      for (Index c = 0; c != 5; ++c) {
        logit += run.input[static_cast<std::size_t>(r * 5 + c)] * run.weights[static_cast<std::size_t>(v * 5 + c)];
      }
      separate.input.push_back(logit);
    }
  }
  CHECK_EQ(testing::run_loss<double>(run).value,
           doctest::Approx(testing::run_loss<double>(separate).value).epsilon(1e-13));
  CHECK_EQ(testing::run_loss<double>(run).high_water, round_up(4 * 7 * 8, alignment_bytes));
}

TEST_CASE_TEMPLATE("a cross-entropy in float and bfloat16 is near double", L, CrossEntropy<7>, Output<4>) {
  auto run = random_loss<L>(9);
  for (auto* values : {&run.weights, &run.input}) {
    for (double& value : *values) {
      value = static_cast<double>(bfloat16(static_cast<float>(value)));
    }
  }
  auto const wanted = testing::run_loss<double>(run);
  auto const single = testing::run_loss<float>(run);
  auto const half = testing::run_loss<bfloat16>(run);
  CHECK_EQ(single.value, doctest::Approx(wanted.value).epsilon(1e-6));
  CHECK_LT(testing::distance(single.dx, wanted.dx), 1e-6);
  CHECK_LT(testing::distance(single.gradients, wanted.gradients), 1e-6);
  CHECK_EQ(half.value, doctest::Approx(wanted.value).epsilon(0.01));
  CHECK_LT(testing::distance(half.dx, wanted.dx), 0.02);
  CHECK_LT(testing::distance(half.gradients, wanted.gradients), 0.02);
}
