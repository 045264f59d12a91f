#include <cleave/optim/schedule.hpp>

#include <cmath>
#include <cstdint>

#include <doctest/doctest.h>

using namespace cleave;

namespace {

/// lr_at of the PyTorch reference (tests/reference/make_reference.py).
double reference(optim::CosineWithWarmup const& schedule, std::int64_t step) {
  auto const s = static_cast<double>(step);
  auto const warm = static_cast<double>(schedule.warmup);
  if (s < warm) {
    return schedule.learning_rate * (s + 1) / warm;
  }
  double const part = (s - warm) / std::fmax(1, static_cast<double>(schedule.steps) - warm);
  return schedule.minimum +
         0.5 * (schedule.learning_rate - schedule.minimum) * (1 + std::cos(3.141592653589793 * part));
}

} // namespace

TEST_CASE("a constant rate is the same at every step") {
  optim::Constant const schedule{0.25};
  CHECK_EQ(schedule(0), 0.25);
  CHECK_EQ(schedule(1'000'000), 0.25);
}

TEST_CASE("cosine with warm-up follows the reference's formula") {
  for (auto const& schedule : {optim::CosineWithWarmup{1e-3, 1e-4, 10, 100}, optim::CosineWithWarmup{0.5, 0, 0, 7},
                               optim::CosineWithWarmup{2, 1, 5, 5}, optim::CosineWithWarmup{1, 0, 3, 4},
                               optim::CosineWithWarmup{1, 0, 0, 1}}) {
    for (std::int64_t step = 0; step < schedule.steps; ++step) {
      CHECK(std::abs(schedule(step) - reference(schedule, step)) < 1e-15);
    }
  }
}

TEST_CASE("it rises to the full rate, falls to the minimum, and stays there") {
  optim::CosineWithWarmup const schedule{1, 0.1, 4, 20};
  CHECK_EQ(schedule(0), 0.25);
  CHECK_EQ(schedule(3), 1);
  CHECK_EQ(schedule(4), 1);
  for (std::int64_t step = 4; step != 20; ++step) {
    CHECK(schedule(step + 1) < schedule(step));
  }
  CHECK_EQ(schedule(20), 0.1);
  CHECK_EQ(schedule(21), 0.1);
  CHECK_EQ(schedule(1'000'000), 0.1);
}
