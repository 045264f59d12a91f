#include <cleave/optim/adamw.hpp>

#include <cmath>

#include <doctest/doctest.h>

#include "support/error_text.hpp"
#include "support/optimizer_run.hpp"

using namespace cleave;
using namespace cleave::testing;

namespace {

/// AdamW as torch.optim.AdamW states it, on one element.
void adamw(double& w, double& m, double& v, double g, int step, optim::AdamWOptions const& o, double decay) {
  w -= o.learning_rate * decay * w;
  m = o.beta1 * m + (1 - o.beta1) * g;
  v = o.beta2 * v + (1 - o.beta2) * g * g;
  double const mean = m / (1 - std::pow(o.beta1, step));
  double const square = v / (1 - std::pow(o.beta2, step));
  w -= o.learning_rate * mean / (std::sqrt(square) + o.epsilon);
}

template <typename Model>
double difference(int ranks, optim::AdamWOptions const& options) {
  auto const rate = [&](int step) { return step < 4 ? options.learning_rate : options.learning_rate / 3; };
  return compare_with_reference<Model>(
      ranks, 8, [&](Model& model) { return optim::AdamW(model, options); },
      [&](auto& adam, int step) { adam.set_learning_rate(rate(step)); },
      [&](ReferenceParameter& p, std::size_t i, double gradient, int step) {
        optim::AdamWOptions now = options;
        now.learning_rate = rate(step);
        adamw(p.weights[i], p.first[i], p.second[i], gradient, step, now, p.is_vector ? 0 : options.weight_decay);
      });
}

} // namespace

TEST_CASE("AdamW takes the steps of its definition, through a change of learning rate") {
  using Model = TinyMlp<precision::Full<double>>;
  for (int const ranks : {1, 3, 8}) {
    CAPTURE(ranks);
    CHECK(difference<Model>(ranks, {}) < 1e-13);
    CHECK(difference<Model>(ranks,
                            {.learning_rate = 0.1, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-4, .weight_decay = 0.3}) <
          1e-13);
  }
}

TEST_CASE("in float it does so to within rounding, on unsharded weights too") {
  CHECK(difference<TinyMlp<>>(3, {.learning_rate = 0.1}) < 2e-6);
  CHECK(difference<TinyMlp<sharding::None>>(3, {.learning_rate = 0.1}) < 2e-6);
}

TEST_CASE("a step that was refused does not count") {
  auto const trained = [](int refusals) {
    comm::Self world;
    ShardedModule<Linear<3, 2>, MeanSquaredError<2>> model(world, {.batch = 2, .seed = 5, .threads = 1});
    optim::AdamW adam(model, {.learning_rate = 0.1});
    for (int i = 0; i != refusals; ++i) {
      CHECK_FALSE(error_text<Error>([&] { adam.step(); }).empty());
    }
    accumulate(model, tiny_features, {}, 0);
    adam.step();
    return weights_of(model);
  };
  CHECK(trained(3) == trained(0));
}

TEST_CASE("AdamW refuses settings that torch.optim.AdamW refuses") {
  comm::Self world;
  ShardedModule<Linear<3, 2>, MeanSquaredError<2>> model(world, {.batch = 2, .threads = 1});
  for (optim::AdamWOptions const& bad : {optim::AdamWOptions{.learning_rate = -1}, optim::AdamWOptions{.beta1 = 1},
                                         optim::AdamWOptions{.beta2 = 1}, optim::AdamWOptions{.beta1 = -0.1},
                                         optim::AdamWOptions{.epsilon = -1}, optim::AdamWOptions{.weight_decay = -1}}) {
    std::string const text = error_text<InvalidArgument>([&] { optim::AdamW(model, bad); });
    CHECK(contains(text, "cleave::optim::AdamW"));
    CHECK(contains(text, "Change AdamWOptions"));
  }
}
