#include <cleave/layers/layer_list.hpp>

#include <doctest/doctest.h>

#include <cleave/comm/self.hpp>
#include <cleave/layers/activations.hpp>
#include <cleave/layers/linear.hpp>
#include <cleave/layers/named.hpp>
#include <cleave/layers/repeat.hpp>
#include <cleave/layers/sequential.hpp>
#include <cleave/sharded/sharded_module.hpp>

using namespace cleave;

namespace {
struct Model {
  using Layers =
      LayerList<Named<"first", Linear<2, 4>>, Repeat<3, Sequential<Gelu, Linear<4, 4>>>, Named<"last", Linear<4, 1>>>;
};
struct WithoutRepeat {
  using Layers = LayerList<Linear<2, 4>, Gelu, Linear<4, 1>>;
};
} // namespace

static_assert(composite_model<Model> && !composite_model<Linear<2, 4>> && !composite_model<int>);
static_assert(ShardedModule<Model>::units == 4, "each repetition is a unit, what stands beside them is the root");
static_assert(ShardedModule<WithoutRepeat>::units == 1);
static_assert(ShardedModule<Linear<2, 4>, Gelu, Linear<4, 1>>::units == 2,
              "in a plain pack each layer with parameters is a unit");

TEST_CASE("a ready model's names begin at its list, whatever stands before it in the pack") {
  std::vector<std::string> names;
  ShardedModule<sharding::Full, Model>::for_each_parameter(
      [&](Name const& name, Parameter const&) { names.emplace_back(name.view()); });
  CHECK_EQ(names, std::vector<std::string>{"first.weight", "first.bias", "last.weight", "last.bias", "1.0.1.weight",
                                           "1.0.1.bias", "1.1.1.weight", "1.1.1.bias", "1.2.1.weight", "1.2.1.bias"});
}
