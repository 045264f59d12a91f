#include <cleave/layers/residual.hpp>

#include <doctest/doctest.h>

#include <cleave/layers/activations.hpp>
#include <cleave/layers/attention.hpp>
#include <cleave/layers/layer_norm.hpp>
#include <cleave/layers/linear.hpp>
#include <cleave/layers/named.hpp>
#include <cleave/layers/positional_embedding.hpp>
#include <cleave/layers/sequential.hpp>

#include "../support/gradient_error.hpp"
#include "../support/layer_run.hpp"
#include "../support/names.hpp"

using namespace cleave;

namespace {
/// Ends with attention itself, whose backward needs its output as it was.
using EndsWithAttention = Residual<Sequential<Linear<4, 12>, CausalAttention<4, 2>>>;
using Whole = Residual<Sequential<Named<"norm", LayerNorm<4>>, Named<"attn", CausalSelfAttention<4, 2>>>>;
} // namespace

static_assert(layer<Whole> && Whole::inputs == 4 && Whole::outputs == 4 && names_itself<Whole>);
static_assert(longest_sequence<Residual<PositionalEmbedding<5, 4>>> == 5, "the limit of what is inside holds outside");

TEST_CASE_TEMPLATE("a residual's backward is the derivative of its forward", L, Residual<Linear<3, 3>>, Residual<Tanh>,
                   Residual<Residual<Gelu>>, EndsWithAttention, Whole, Sequential<EndsWithAttention, Whole>) {
  CHECK_LT(testing::gradient_error<L>(), testing::gradient_tolerance);
}

TEST_CASE_TEMPLATE("a residual returns its input and what its layer makes of it", L, Linear<3, 3>,
                   Sequential<Linear<4, 12>, CausalAttention<4, 2>>) {
  auto const inner = testing::random_run<L>({2, 3});
  testing::LayerRun<Residual<L>> outer{
      .shape = inner.shape, .weights = inner.weights, .input = inner.input, .dy = inner.dy};
  auto const result = testing::run_layer<double>(outer);
  auto const wanted = testing::run_layer<double>(inner);
  for (std::size_t i = 0; i != result.y.size(); ++i) {
    CHECK_EQ(result.y[i], wanted.y[i] + inner.input[i]);
    CHECK_EQ(result.dx[i], wanted.dx[i] + inner.dy[i]);
  }
  CHECK_EQ(result.gradients, wanted.gradients);
}

TEST_CASE("a residual's parameters are those of its layer") {
  CHECK_EQ(testing::names_of<Residual<Linear<3, 3>>>("x"), std::vector<std::string>{"x.weight", "x.bias"});
  CHECK_EQ(testing::names_of<Whole>("h.0").front(), "h.0.norm.weight");
}

TEST_CASE("a residual in float and bfloat16 is near double") {
  auto const errors = testing::compare_types(testing::random_run<EndsWithAttention>({3, 5}));
  CHECK_LT(errors.single, 1e-5);
  CHECK_LT(errors.half, 0.03);
}
