#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <cleave/comm/threads.hpp>
#include <cleave/layers/activations.hpp>
#include <cleave/layers/linear.hpp>
#include <cleave/layers/mean_squared_error.hpp>
#include <cleave/sharded/sharded_module.hpp>

#include "support/training.hpp"

namespace cleave::testing {

/// Names 0.weight, 0.bias, 2.weight, 2.bias; uneven shards.
template <typename... Policies>
using TinyMlp = ShardedModule<Linear<3, 5>, Tanh, Linear<5, 2>, MeanSquaredError<2>, comm::Threads, Policies...>;
inline constexpr Data tiny_features{.inputs = 3, .outputs = 2};

/// One parameter of the reference: its elements, and two values for each that an optimizer keeps.
struct ReferenceParameter {
  std::string name;
  bool is_vector = false;
  std::vector<double> weights, first, second;
};

/// Trains on `ranks` ranks beside a reference: `change(optimizer, step)` comes before each step, `update(parameter, i,
/// gradient, step)` is the reference's step for element i. The largest difference between both.
template <typename Model, typename Make, typename Change, typename Update>
[[nodiscard]] double compare_with_reference(int ranks, int steps, Make make, Change change, Update update) {
  std::vector<double> worst(static_cast<std::size_t>(ranks));
  comm::Threads::run(ranks, [&](comm::Threads& world) {
    Model model(world, {.batch = 2, .seed = 5, .threads = 1});
    auto optimizer = make(model);
    std::vector<ReferenceParameter> reference;
    model.visit_parameters([&](Name const& name, Placement const& placement, auto values) {
      std::vector<double> const start(values.begin(), values.end());
      std::vector<double> const zeros(start.size());
      reference.push_back({std::string(name.view()), placement.parameter.shape.is_vector(), start, zeros, zeros});
    });
    for (int step = 1; step <= steps; ++step) {
      accumulate(model, tiny_features, {}, step);
      change(optimizer, step);
      Values const gradients = gradients_of(model);
      optimizer.step();
      Values const weights = weights_of(model);
      for (ReferenceParameter& parameter : reference) {
        for (std::size_t i = 0; i != parameter.weights.size(); ++i) {
          update(parameter, i, gradients.at(parameter.name)[i], step);
        }
        double& mine = worst[static_cast<std::size_t>(world.rank())];
        mine = std::max(mine, distance(weights.at(parameter.name), parameter.weights));
      }
    }
  });
  return *std::max_element(worst.begin(), worst.end());
}

} // namespace cleave::testing
