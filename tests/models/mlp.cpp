#include <cleave/models/mlp.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <cleave/comm/self.hpp>
#include <cleave/layers/cross_entropy.hpp>
#include <cleave/sharded/sharded_module.hpp>

using namespace cleave;

namespace {
using Model =
    ShardedModule<models::mlp::Mlp<models::mlp::Config{.inputs = 300, .width = 40, .outputs = 20, .hidden = 2}>>;
using Classifier =
    ShardedModule<models::mlp::Mlp<models::mlp::Config{.inputs = 3, .width = 40, .outputs = 20, .hidden = 1}, Relu,
                                   CrossEntropy<20>>>;
} // namespace

static_assert(Model::units == 3 && Model::has_loss, "hidden layers are units, the first and last layer are the root");
static_assert(std::is_same_v<Model::Target, float> && std::is_same_v<Classifier::Target, std::int32_t>);

TEST_CASE("names say what a layer is for, shapes are torch's") {
  std::vector<std::string> names;
  std::vector<Extents> shapes;
  Model::for_each_parameter([&](Name const& name, Parameter const& parameter) {
    names.emplace_back(name.view());
    shapes.push_back(parameter.shape);
  });
  CHECK_EQ(names, std::vector<std::string>{"input.weight", "input.bias", "output.weight", "output.bias",
                                           "hidden.0.weight", "hidden.0.bias", "hidden.1.weight", "hidden.1.bias"});
  bool const right = shapes == std::vector<Extents>{{40, 300}, {40}, {20, 40}, {20}, {40, 40}, {40}, {40, 40}, {40}};
  CHECK(right);
}

TEST_CASE("first values are uniform within torch.nn.Linear's bound of 1 / sqrt(inputs)") {
  comm::Self self;
  Model model(self, {.batch = 1, .seed = 7, .threads = 1});
  model.visit_parameters([](Name const& name, Placement const&, std::span<float const> values) {
    CAPTURE(name.view());
    double const bound = 1 / std::sqrt(name.view().starts_with("input") ? 300.0 : 40.0);
    auto const [least, most] = std::minmax_element(values.begin(), values.end());
    CHECK_GT(*least, -bound);
    CHECK_LT(*most, bound);
    double square = 0;
    for (double const value : values) {
      square += value * value / static_cast<double>(values.size());
    }
    // The mean square of such numbers is bound^2 / 3, of n of them within its deviation, (2 / sqrt(45)) bound^2 /
    // sqrt(n).
    CHECK_LT(std::abs(square - bound * bound / 3),
             5 * 0.3 * bound * bound / std::sqrt(static_cast<double>(values.size())));
  });
}

TEST_CASE("a classifier learns its samples by plain gradient descent") {
  comm::Self self;
  Classifier model(self, {.batch = 20, .seed = 7, .threads = 1});
  std::vector<float> input;
  std::vector<std::int32_t> targets;
  for (int i = 0; i != 20; ++i) {
    input.insert(input.end(), {static_cast<float>(i) / 10 - 1, static_cast<float>(i % 3), 1});
    targets.push_back(i);
  }
  double const before = model.evaluate(input, targets).mean();
  for (int step = 0; step != 20; ++step) {
    model.backward(model.loss(input, targets));
    double const scale = 0.5 * model.gradient_scale();
    model.step([&](auto&, Parameter const&, Vector<float> weights, Index, Vector<float const> gradient) {
      for (Index i = 0; i != weights.size; ++i) {
        weights.data[i] -= static_cast<float>(scale * gradient.data[i]);
      }
    });
  }
  CHECK_LT(model.evaluate(input, targets).mean(), before - 0.5);
}
