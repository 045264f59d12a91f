#include <cleave/layers/repeat.hpp>

#include <doctest/doctest.h>

#include <cleave/layers/activations.hpp>
#include <cleave/layers/attention.hpp>
#include <cleave/layers/dropout.hpp>
#include <cleave/layers/layer_norm.hpp>
#include <cleave/layers/linear.hpp>
#include <cleave/layers/named.hpp>
#include <cleave/layers/positional_embedding.hpp>
#include <cleave/layers/residual.hpp>
#include <cleave/layers/sequential.hpp>

#include "../support/gradient_error.hpp"
#include "../support/layer_run.hpp"
#include "../support/names.hpp"

using namespace cleave;

namespace {
using Layer = Sequential<Tanh, Dropout, Linear<4, 4>>;
} // namespace

static_assert(layer<Repeat<3, Layer>> && parameter_count<Repeat<3, Layer>> == 6 && Repeat<3, Layer>::inputs == 4);
static_assert(longest_sequence<Repeat<2, PositionalEmbedding<5, 4>>> == 5, "the limit of what is inside holds outside");

TEST_CASE_TEMPLATE("a repetition's backward is the derivative of its forward", L, Repeat<1, Layer>, Repeat<2, Layer>,
                   Repeat<3, Layer>, Repeat<4, Gelu>, Repeat<2, Repeat<2, Layer>>,
                   Repeat<2, Residual<CausalSelfAttention<4, 2>>>) {
  CHECK_LT(testing::gradient_error<L>({.dropout = 0.3}), testing::gradient_tolerance);
}

TEST_CASE("a repetition computes what the same layers one after the other compute, bit for bit") {
  auto repeated = testing::random_run<Repeat<3, Layer>>({2, 3});
  testing::LayerRun<Sequential<Layer, Layer, Layer>> listed{
      .shape = repeated.shape, .dropout = 0.3, .weights = repeated.weights, .input = repeated.input, .dy = repeated.dy};
  repeated.dropout = 0.3;
  CHECK(testing::run_layer<float>(repeated) == testing::run_layer<float>(listed));
}

TEST_CASE("repetitions are numbered") {
  CHECK_EQ(testing::names_of<Repeat<2, LayerNorm<4>>>("h"),
           std::vector<std::string>{"h.0.weight", "h.0.bias", "h.1.weight", "h.1.bias"});
  CHECK_EQ(testing::names_of<Repeat<12, Named<"a", LayerNorm<4>>>>().back(), "11.a.bias");
}

TEST_CASE("a repetition in float and bfloat16 is near double") {
  auto const errors = testing::compare_types(testing::random_run<Repeat<3, Layer>>({3, 5}));
  CHECK_LT(errors.single, 1e-5);
  CHECK_LT(errors.half, 0.03);
}
