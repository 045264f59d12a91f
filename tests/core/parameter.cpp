#include <cleave/core/parameter.hpp>

#include <doctest/doctest.h>

using namespace cleave;

static_assert(init::zeros() == init::constant(0) && init::ones() == init::constant(1));
static_assert(init::normal(0.02) != init::uniform(0.02), "the kind tells them apart");
static_assert(Extents{.rows = 5}.is_vector() && Extents{.rows = 5}.size() == 5);
static_assert(!Extents{.rows = 5, .columns = 1}.is_vector(), "a matrix of one column is a matrix");

TEST_CASE("a parameter has as many elements as its extents say") {
  for (Index rows = 1; rows != 9; ++rows) {
    for (Index columns = 1; columns != 9; ++columns) {
      CHECK_EQ(Extents{rows, columns}.size(), rows * columns);
    }
  }
}

TEST_CASE("a parameter owns its elements unless it says that it is tied") {
  constexpr Parameter weight{.name = "wte.weight", .shape = {50257, 768}, .initialiser = init::normal(0.02)};
  CHECK_FALSE(weight.tied);
  CHECK_EQ(weight.shape.size(), 50257 * 768);
}
