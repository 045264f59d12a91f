#include <cleave/policy/precision.hpp>

#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <cleave/comm/self.hpp>
#include <cleave/layers/activations.hpp>
#include <cleave/layers/linear.hpp>
#include <cleave/layers/mean_squared_error.hpp>
#include <cleave/sharded/sharded_module.hpp>

using namespace cleave;

static_assert(std::is_same_v<precision::Full<double>::Master, double> &&
              std::is_same_v<precision::Full<double>::Compute, double> &&
              std::is_same_v<precision::Full<double>::Reduce, double>);
static_assert(std::is_same_v<precision::Mixed<bfloat16>::Master, float> &&
              std::is_same_v<precision::Mixed<bfloat16>::Compute, bfloat16> &&
              std::is_same_v<precision::Mixed<bfloat16>::Reduce, float>);

namespace {

struct Half { // of a type that is no scalar
  using policy_category = category::precision;
  using Master = float;
  using Compute = short;
  using Reduce = float;
};

template <typename Precision>
using Model = ShardedModule<Linear<3, 8>, Gelu, Linear<8, 2>, MeanSquaredError<2>, Precision>;

template <typename Precision>
double loss_and_norm() {
  using Number = typename Precision::Master;
  comm::Self self;
  Model<Precision> model(self, {.batch = 4, .seed = 5, .threads = 1});
  std::vector<Number> const input{1, 2, 3, -1, 0, 1, 0.5, 0.25, -2, 3, 1, 0};
  std::vector<Number> const targets{1, 0, 0, 1, 1, 1, 0, 0};
  auto const loss = model.loss(input, targets);
  model.backward(loss);
  return loss.sum + model.gradient_norm();
}

} // namespace

static_assert(!precision_policy<Half> && !precision_policy<int>);
static_assert(memory_plan<Model<precision::Full<double>>>({})[Buffer::parameter_shards] >
              memory_plan<Model<precision::Full<float>>>({})[Buffer::parameter_shards]);
static_assert(memory_plan<Model<precision::Mixed<bfloat16>>>({})[Buffer::parameter_shards] ==
                  memory_plan<Model<precision::Full<float>>>({})[Buffer::parameter_shards],
              "master weights stay float");
static_assert(memory_plan<Model<precision::Mixed<bfloat16>>>({})[Buffer::gathered_parameters] <
                  memory_plan<Model<precision::Full<float>>>({})[Buffer::gathered_parameters],
              "gathered weights take half the memory");

TEST_CASE("types differ by their rounding, and by no more") {
  double const exact = loss_and_norm<precision::Full<double>>();
  CHECK_EQ(loss_and_norm<precision::Full<float>>(), doctest::Approx(exact).epsilon(1e-5));
  CHECK_EQ(loss_and_norm<precision::Mixed<bfloat16>>(), doctest::Approx(exact).epsilon(0.03));
  CHECK_NE(loss_and_norm<precision::Mixed<bfloat16>>(), loss_and_norm<precision::Full<float>>());
}
