#include <cleave/policy/prefetch.hpp>

#include <type_traits>
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

template <typename... Prefetch>
using Model = ShardedModule<Repeat<5, Sequential<Tanh, Linear<8, 8>>>, MeanSquaredError<8>, Prefetch...>;

template <typename... Prefetch>
constexpr int forward_depth = Model<Prefetch...>::Configuration::Forward::depth;

/// Bytes of gathered units, in units.
template <typename... Prefetch>
constexpr Index buffers = memory_plan<Model<Prefetch...>>({})[Buffer::gathered_parameters] / round_up((64 + 8) * 4, 64);

template <typename... Prefetch>
std::vector<float> gradients() {
  comm::Self self;
  Model<Prefetch...> model(self, {.batch = 2, .seed = 5, .threads = 1});
  std::vector<float> const input{1, 2, 3, -1, 0, 1, 0.5, 0.25, -2, 3, 1, 0, 1, 2, 3, 4};
  model.backward(model.loss(input, input));
  std::vector<float> all;
  model.visit_gradients([&](Name const&, Placement const&, std::span<float const> part) {
    all.insert(all.end(), part.begin(), part.end());
  });
  return all;
}

} // namespace

static_assert(forward_depth<> == 1 && forward_depth<prefetch::BackwardPost<3>> == 1 &&
              forward_depth<prefetch::None> == 0);
static_assert(forward_depth<prefetch::None, prefetch::Forward<2>> == 2 && forward_depth<prefetch::Forward<0>> == 0,
              "forward and backward are chosen apart");
static_assert(buffers<prefetch::None> == 1 && buffers<> == 2 && buffers<prefetch::BackwardPost<3>> == 4 &&
                  buffers<prefetch::None, prefetch::Forward<2>> == 3 && buffers<prefetch::BackwardPre<5>> == 5,
              "one buffer for the unit at work and one for each unit ahead, and never more than there are units");

TEST_CASE("how early a unit is gathered changes no bit of the gradient") {
  auto const wanted = gradients<prefetch::None>();
  CHECK_EQ(gradients<>(), wanted);
  CHECK_EQ(gradients<prefetch::BackwardPre<4>>(), wanted);
  CHECK_EQ(gradients<prefetch::BackwardPost<1>>(), wanted);
  CHECK_EQ((gradients<prefetch::BackwardPost<2>, prefetch::Forward<3>>()), wanted);
  CHECK_EQ((gradients<prefetch::None, prefetch::Forward<5>>()), wanted);
}
