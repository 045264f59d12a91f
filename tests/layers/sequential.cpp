#include <cleave/layers/sequential.hpp>

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <cleave/layers/activations.hpp>
#include <cleave/layers/attention.hpp>
#include <cleave/layers/dropout.hpp>
#include <cleave/layers/embedding.hpp>
#include <cleave/layers/layer_norm.hpp>
#include <cleave/layers/linear.hpp>
#include <cleave/layers/named.hpp>
#include <cleave/layers/positional_embedding.hpp>

#include "../support/gradient_error.hpp"
#include "../support/layer_run.hpp"
#include "../support/names.hpp"

using namespace cleave;
using testing::names_of;

namespace {
using Perceptron = Sequential<Linear<4, 9>, Gelu, Linear<9, 3>>;
using FromTokens = Sequential<Embedding<7, 4>, PositionalEmbedding<9, 4>, Linear<4, 2>>;
} // namespace

static_assert(layer<Perceptron> && layer<FromTokens>);
static_assert(Perceptron::inputs == 4 && Perceptron::outputs == 3 && parameter_count<Perceptron> == 4);
static_assert(Sequential<Gelu, Relu>::inputs == any_width && Sequential<Gelu, Relu>::outputs == any_width);
static_assert(Sequential<Gelu, Linear<3, 2>, Relu>::inputs == 3 && Sequential<Gelu, Linear<3, 2>, Relu>::outputs == 2);
static_assert(vocabulary<FromTokens> == 7 && longest_sequence<FromTokens> == 9 && vocabulary<Perceptron> == 0);
static_assert(longest_sequence<Sequential<PositionalEmbedding<9, 4>, PositionalEmbedding<5, 4>, Gelu>> == 5);
static_assert(saves_output<Sequential<Linear<2, 6>, CausalAttention<2, 1>>> &&
              !saves_output<Sequential<CausalAttention<2, 1>, Gelu>>);

// A composition needs no number when all its parameters bring names.
static_assert(names_itself<Sequential<Gelu, Named<"a", Linear<2, 2>>, Dropout>> && !names_itself<Perceptron> &&
              !names_itself<Sequential<Named<"a", Linear<2, 2>>, Linear<2, 2>>>);

TEST_CASE_TEMPLATE("a sequence's backward is the derivative of its forward", L, Sequential<Linear<3, 2>>, Perceptron,
                   FromTokens, Sequential<Tanh, Linear<6, 2>>,
                   Sequential<Linear<2, 8>, Tanh, Linear<8, 1>, Sigmoid, Linear<1, 5>, Silu>,
                   Sequential<Sequential<LayerNorm<3>, Linear<3, 6>>, Sequential<Gelu, Linear<6, 3>>>,
                   Sequential<Linear<2, 12>, CausalAttention<4, 2>, Linear<4, 2>>) {
  CHECK_LT(testing::gradient_error<L>(), testing::gradient_tolerance);
}

TEST_CASE("a sequence of layers of any width has the input's width") {
  CHECK_LT(testing::gradient_error<Sequential<Tanh, Sigmoid, Gelu>>({.columns = 5}), testing::gradient_tolerance);
}

TEST_CASE("parameters are called by the position of their layer, unless it names itself") {
  using Inner = Sequential<Relu, Named<"deep", Linear<3, 3>>>;
  CHECK_EQ(names_of<Perceptron>(), std::vector<std::string>{"0.weight", "0.bias", "2.weight", "2.bias"});
  CHECK_EQ(names_of<Perceptron>("mlp"),
           std::vector<std::string>{"mlp.0.weight", "mlp.0.bias", "mlp.2.weight", "mlp.2.bias"});
  CHECK_EQ(names_of<Sequential<Relu, Sequential<Gelu, LayerNorm<3>>>>(),
           std::vector<std::string>{"1.1.weight", "1.1.bias"});
  CHECK_EQ(names_of<Sequential<Relu, Inner>>("x"), std::vector<std::string>{"x.deep.weight", "x.deep.bias"});
  CHECK_EQ(names_of<Sequential<LayerNorm<3>, Inner>>(),
           std::vector<std::string>{"0.weight", "0.bias", "deep.weight", "deep.bias"});
}

TEST_CASE_TEMPLATE("a sequence in float and bfloat16 is near double", L, Perceptron, FromTokens) {
  auto const errors = testing::compare_types(testing::random_run<L>({3, 5}));
  CHECK_LT(errors.single, 1e-5);
  CHECK_LT(errors.half, 0.03);
}
