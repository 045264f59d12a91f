#include <cleave/policy/sharding.hpp>

#include <vector>

#include <doctest/doctest.h>

#include <cleave/comm/self.hpp>
#include <cleave/layers/activations.hpp>
#include <cleave/layers/linear.hpp>
#include <cleave/layers/mean_squared_error.hpp>
#include <cleave/layers/repeat.hpp>
#include <cleave/layers/sequential.hpp>
#include <cleave/sharded/sharded_module.hpp>

using namespace cleave;

namespace {

template <typename Sharding>
using Model = ShardedModule<Repeat<6, Sequential<Tanh, Linear<64, 64>>>, MeanSquaredError<64>, Sharding>;

template <typename Sharding>
constexpr MemoryPlan plan = memory_plan<Model<Sharding>>({.ranks = 8});

template <typename Sharding>
std::vector<float> gradients() {
  comm::Self self;
  Model<Sharding> model(self, {.batch = 2, .seed = 5, .threads = 1});
  std::vector<float> input;
  for (int i = 0; i != 128; ++i) {
    input.push_back(static_cast<float>(i % 7) - 3);
  }
  model.backward(model.loss(input, input));
  std::vector<float> all;
  model.visit_gradients([&](Name const&, Placement const&, std::span<float const> part) {
    all.insert(all.end(), part.begin(), part.end());
  });
  return all;
}

} // namespace

// Each strategy keeps slices of more than the next.
static_assert(plan<sharding::Full>.peak() < plan<sharding::GradientsAndOptimizer>.peak() &&
              plan<sharding::GradientsAndOptimizer>.peak() < plan<sharding::OptimizerOnly>.peak() &&
              plan<sharding::OptimizerOnly>.peak() < plan<sharding::None>.peak());
static_assert(plan<sharding::Full>[Buffer::gathered_parameters] <
              plan<sharding::GradientsAndOptimizer>[Buffer::gathered_parameters]);
static_assert(plan<sharding::GradientsAndOptimizer>[Buffer::gradients] <
              plan<sharding::OptimizerOnly>[Buffer::gradients]);
static_assert(plan<sharding::OptimizerOnly>[Buffer::optimizer_state] < plan<sharding::None>[Buffer::optimizer_state]);
static_assert(plan<sharding::Full>[Buffer::parameter_shards] * 7 < plan<sharding::None>[Buffer::parameter_shards],
              "an eighth, and the alignment of each slice");

TEST_CASE("what is kept whole changes no bit of the gradient") {
  auto const wanted = gradients<sharding::Full>();
  CHECK_EQ(gradients<sharding::GradientsAndOptimizer>(), wanted);
  CHECK_EQ(gradients<sharding::OptimizerOnly>(), wanted);
  CHECK_EQ(gradients<sharding::None>(), wanted);
}
