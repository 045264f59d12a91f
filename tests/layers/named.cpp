#include <cleave/layers/named.hpp>

#include <doctest/doctest.h>

#include <cleave/layers/activations.hpp>
#include <cleave/layers/attention.hpp>
#include <cleave/layers/cross_entropy.hpp>
#include <cleave/layers/embedding.hpp>
#include <cleave/layers/layer_norm.hpp>
#include <cleave/layers/linear.hpp>
#include <cleave/layers/positional_embedding.hpp>
#include <cleave/layers/sequential.hpp>

#include "../support/gradient_error.hpp"
#include "../support/layer_run.hpp"
#include "../support/names.hpp"

using namespace cleave;
using testing::names_of;

static_assert(layer<Named<"a", Linear<3, 2>>> && loss_layer<Named<"a", OutputCrossEntropy<3, 2>>>);
static_assert(names_itself<Named<"a", Linear<3, 2>>> && Named<"a", Linear<3, 2>>::outputs == 2);
static_assert(vocabulary<Named<"wte", Embedding<7, 2>>> == 7 &&
              longest_sequence<Named<"wpe", PositionalEmbedding<5, 2>>> == 5);
static_assert(saves_output<Named<"a", CausalAttention<4, 2>>>, "what is true of the layer is true of it under a name");

TEST_CASE("a name stands before the names of the layer's parameters") {
  CHECK_EQ(names_of<Named<"fc", Linear<3, 2>>>("mlp"), std::vector<std::string>{"mlp.fc.weight", "mlp.fc.bias"});
  CHECK_EQ(names_of<Named<"outer", Named<"inner", LayerNorm<3>>>>(),
           std::vector<std::string>{"outer.inner.weight", "outer.inner.bias"});
  CHECK_EQ(names_of<Named<"head", OutputCrossEntropy<3, 2>>>(), std::vector<std::string>{"head.weight"});
}

TEST_CASE("an empty name adds nothing, and keeps a sequence from numbering the layer") {
  CHECK_EQ(names_of<Sequential<Relu, Named<"", Linear<3, 2>>>>("hidden"),
           std::vector<std::string>{"hidden.weight", "hidden.bias"});
}

TEST_CASE("a name changes nothing of what is computed") {
  auto const plain = testing::random_run<Linear<3, 2>>({2, 3});
  testing::LayerRun<Named<"a", Linear<3, 2>>> const named{
      .shape = plain.shape, .weights = plain.weights, .input = plain.input, .dy = plain.dy};
  CHECK(testing::run_layer<double>(plain) == testing::run_layer<double>(named));
  CHECK_LT(testing::gradient_error<Named<"a", Linear<3, 2>>>(), testing::gradient_tolerance);
  CHECK_LT((testing::gradient_error<Named<"a", OutputCrossEntropy<3, 2>>>()), testing::gradient_tolerance);
}
