#include <cleave/layers/embedding.hpp>

#include <doctest/doctest.h>

#include "../support/gradient_error.hpp"
#include "../support/layer_run.hpp"

using namespace cleave;

static_assert(vocabulary<Embedding<7, 3>> == 7 && parameter_count<Embedding<7, 3>> == 1);
static_assert(Embedding<7, 3, 0.02>::parameters[0].shape == Extents{7, 3} &&
              Embedding<7, 3, 0.02>::parameters[0].initialiser == init::normal(0.02));

TEST_CASE_TEMPLATE("an embedding's backward is the derivative of its forward, for repeated tokens too", L,
                   Embedding<1, 1>, Embedding<3, 5>, Embedding<50, 2>) {
  CHECK_LT(testing::gradient_error<L>(), testing::gradient_tolerance);
}

TEST_CASE("an embedding looks rows up, and adds the gradients of a token's rows") {
  testing::LayerRun<Embedding<3, 2>> run{.shape = {1, 4}};
  run.weights = {1, 2, 3, 4, 5, 6};
  run.input = {2, 0, 2, 2};
  run.dy = {1, 10, 2, 20, 3, 30, 4, 40};
  auto const result = testing::run_layer<double>(run);
  CHECK_EQ(result.y, std::vector<double>{5, 6, 1, 2, 5, 6, 5, 6});
  CHECK_EQ(result.gradients, std::vector<double>{2, 20, 0, 0, 8, 80});
}

TEST_CASE("an embedding in float and bfloat16 is near double") {
  auto const errors = testing::compare_types(testing::random_run<Embedding<11, 9>>({3, 5}));
  CHECK_LT(errors.single, 1e-6);
  CHECK_LT(errors.half, 0.01);
}
