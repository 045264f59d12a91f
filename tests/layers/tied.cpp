#include <cleave/layers/tied.hpp>

#include <doctest/doctest.h>

#include <cleave/layers/activations.hpp>
#include <cleave/layers/attention.hpp>
#include <cleave/layers/cross_entropy.hpp>
#include <cleave/layers/embedding.hpp>
#include <cleave/layers/linear.hpp>
#include <cleave/layers/named.hpp>
#include <cleave/layers/sequential.hpp>

#include "../support/gradient_error.hpp"
#include "../support/names.hpp"

using namespace cleave;

namespace {

constexpr LinearOptions plain{.bias = false};
using TiedLinear = Tied<"a.weight", Linear<3, 3>>;
/// An autoencoder whose halves share a matrix, and a language model whose output projection is its embedding.
using Twice = Sequential<Named<"a", Linear<3, 3>>, Tanh, Named<"b", TiedLinear>>;
using LanguageModel = Sequential<Named<"wte", Embedding<5, 4>>, Tanh, Tied<"wte.weight", Linear<4, 5, plain>>>;

template <typename L>
constexpr Parameter parameter_of(int number) {
  Parameter found;
  int i = 0;
  cleave::for_each_parameter<L>(Name{}, [&](Parameter const& parameter) { found = i++ == number ? parameter : found; });
  return found;
}

} // namespace

static_assert(layer<TiedLinear> && loss_layer<Tied<"wte.weight", OutputCrossEntropy<3, 2>>>);
static_assert(parameter_of<TiedLinear>(0).tied && parameter_of<TiedLinear>(0).shape == Extents{3, 3});
static_assert(!parameter_of<TiedLinear>(1).tied, "only the first parameter is tied");
static_assert(saves_output<Tied<"a", CausalAttention<4, 2>>> && TiedLinear::outputs == 3);

TEST_CASE("the first parameter has the name it is tied to, the others keep theirs") {
  CHECK_EQ(testing::names_of<Twice>(), std::vector<std::string>{"a.weight", "a.bias", "a.weight", "b.bias"});
  CHECK_EQ(testing::names_of<Tied<"wte.weight", OutputCrossEntropy<3, 2>>>("lm_head"),
           std::vector<std::string>{"wte.weight"});
}

TEST_CASE_TEMPLATE("a shared parameter's gradient is the sum of both uses", L, Twice, LanguageModel) {
  CHECK_LT(testing::gradient_error<L>(), testing::gradient_tolerance);
}

TEST_CASE("a tied loss is the loss") {
  CHECK_LT((testing::gradient_error<Tied<"wte.weight", OutputCrossEntropy<3, 5>>>({.ignore_every = 3})),
           testing::gradient_tolerance);
}
