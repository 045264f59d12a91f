#include <cleave/layers/positional_embedding.hpp>

#include <doctest/doctest.h>

#include "../support/gradient_error.hpp"
#include "../support/layer_run.hpp"

using namespace cleave;

static_assert(longest_sequence<PositionalEmbedding<8, 3>> == 8);
static_assert(PositionalEmbedding<8, 3, 0.02>::parameters[0].shape == Extents{8, 3} &&
              PositionalEmbedding<8, 3, 0.02>::parameters[0].initialiser == init::normal(0.02));

TEST_CASE_TEMPLATE("a positional embedding's backward is the derivative of its forward, for short sequences too", L,
                   PositionalEmbedding<6, 1>, PositionalEmbedding<13, 5>) {
  CHECK_LT(testing::gradient_error<L>(), testing::gradient_tolerance);
}

TEST_CASE("each sequence of a batch begins at position 0") {
  testing::LayerRun<PositionalEmbedding<3, 1>> run{.shape = {2, 2}};
  run.weights = {1, 2, 3};
  run.input = {10, 20, 30, 40};
  run.dy = {1, 2, 4, 8};
  auto const result = testing::run_layer<double>(run);
  CHECK_EQ(result.y, std::vector<double>{11, 22, 31, 42});
  CHECK_EQ(result.dx, run.dy);
  CHECK_EQ(result.gradients, std::vector<double>{5, 10, 0});
}

TEST_CASE("a positional embedding in float and bfloat16 is near double") {
  auto const errors = testing::compare_types(testing::random_run<PositionalEmbedding<7, 9>>({3, 5}));
  CHECK_LT(errors.single, 1e-6);
  CHECK_LT(errors.half, 0.01);
}
