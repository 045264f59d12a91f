#include <cleave/policy/category.hpp>

#include <type_traits>

#include <doctest/doctest.h>

#include <cleave/comm/self.hpp>
#include <cleave/layers/activations.hpp>
#include <cleave/layers/linear.hpp>
#include <cleave/sharded/sharded_module.hpp>

using namespace cleave;

namespace {

struct Plain {
  using policy_category = category::sharding;
};

template <typename... Args>
using ConfigurationOf = typename ShardedModule<Args...>::Configuration;

using First = Linear<3, 4>;
using Second = Linear<4, 2>;
using Defaults = ConfigurationOf<First, Gelu, Second>;

/// The four spellings of one model: policies before, after, between, and each default written out.
using Before = ConfigurationOf<precision::Full<double>, sharding::None, First, Gelu, Second>;
using After = ConfigurationOf<First, Gelu, Second, sharding::None, precision::Full<double>>;
using Between = ConfigurationOf<First, sharding::None, Gelu, precision::Full<double>, Second>;
using Written =
    ConfigurationOf<First, Gelu, Second, precision::Full<double>, sharding::None, prefetch::BackwardPre<1>,
                    prefetch::Forward<1>, reduction::MeanOverWeight, recompute::None, comm::Self, device::Cpu>;

} // namespace

static_assert(policy<Plain> && policy_of<Plain, category::sharding> && !policy_of<Plain, category::precision>);
static_assert(!policy<int> && !policy<First>);

static_assert(std::is_same_v<Before, After> && std::is_same_v<Before, Between> && std::is_same_v<Before, Written>,
              "policies may stand anywhere, and a default may be written out");
static_assert(!std::is_same_v<Before, Defaults>);

// What is left out is the first of its category.
static_assert(std::is_same_v<Defaults::Precision, precision::Full<float>> &&
              std::is_same_v<Defaults::Sharding, sharding::Full> &&
              std::is_same_v<Defaults::BackwardPrefetch, prefetch::BackwardPre<1>> &&
              std::is_same_v<Defaults::Forward, prefetch::Forward<1>> &&
              std::is_same_v<Defaults::Reduction, reduction::MeanOverWeight> &&
              std::is_same_v<Defaults::Communicator, comm::Self> && std::is_same_v<Defaults::Device, device::Cpu>);

TEST_CASE("layers are named by their place among the layers, wherever policies stand") {
  std::vector<Name> names;
  ShardedModule<comm::Self, First, sharding::None, Gelu, Second>::for_each_parameter(
      [&](Name const& name, Parameter const&) { names.push_back(name); });
  CHECK((names == std::vector<Name>{"0.weight", "0.bias", "2.weight", "2.bias"}));
}
