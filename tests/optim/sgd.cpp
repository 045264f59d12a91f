#include <cleave/optim/sgd.hpp>

#include <doctest/doctest.h>

#include "support/error_text.hpp"
#include "support/optimizer_run.hpp"

using namespace cleave;
using namespace cleave::testing;

namespace {

/// torch.optim.SGD without dampening, on one element; `buffer` starts as the first gradient.
void sgd(double& w, double& buffer, double g, int step, optim::SgdOptions const& o, double decay) {
  g += decay * w;
  if (o.momentum != 0) {
    buffer = step == 1 ? g : o.momentum * buffer + g;
    g = o.nesterov ? g + o.momentum * buffer : buffer;
  }
  w -= o.learning_rate * g;
}

template <typename Model>
double difference(int ranks, optim::SgdOptions const& options) {
  auto const rate = [&](int step) { return step < 4 ? options.learning_rate : options.learning_rate / 3; };
  return compare_with_reference<Model>(
      ranks, 8, [&](Model& model) { return optim::Sgd(model, options); },
      [&](auto& optimizer, int step) { optimizer.set_learning_rate(rate(step)); },
      [&](ReferenceParameter& p, std::size_t i, double gradient, int step) {
        optim::SgdOptions now = options;
        now.learning_rate = rate(step);
        sgd(p.weights[i], p.first[i], gradient, step, now, p.is_vector ? 0 : options.weight_decay);
      });
}

} // namespace

TEST_CASE("Sgd takes the steps of its definition, through a change of learning rate") {
  using Model = TinyMlp<precision::Full<double>>;
  for (int const ranks : {1, 3, 8}) {
    CAPTURE(ranks);
    CHECK(difference<Model>(ranks, {.learning_rate = 0.1}) < 1e-13);
    CHECK(difference<Model>(ranks, {.learning_rate = 0.1, .weight_decay = 0.2}) < 1e-13);
    CHECK(difference<Model>(ranks, {.learning_rate = 0.1, .momentum = 0.9}) < 1e-13);
    CHECK(difference<Model>(ranks, {.learning_rate = 0.1, .momentum = 0.9, .nesterov = true, .weight_decay = 0.2}) <
          1e-13);
  }
}

TEST_CASE("on unsharded weights too") {
  CHECK(difference<TinyMlp<precision::Full<double>, sharding::None>>(3, {.learning_rate = 0.1, .momentum = 0.9}) <
        1e-13);
}

TEST_CASE("Nesterov's form needs a momentum") {
  comm::Self world;
  ShardedModule<Linear<3, 2>, MeanSquaredError<2>> model(world, {.threads = 1});
  auto const text = error_text<InvalidArgument>([&] { optim::Sgd const sgd(model, {.nesterov = true}); });
  CHECK(contains(text, "nesterov with a momentum of 0"));
  CHECK(contains(text, "Give a momentum"));
}

TEST_CASE("a step that was refused does not count: the first one still starts the momentum") {
  auto const trained = [](int refusals) {
    comm::Self world;
    ShardedModule<Linear<3, 2>, MeanSquaredError<2>> model(world, {.batch = 2, .seed = 5, .threads = 1});
    optim::Sgd sgd(model, {.learning_rate = 0.1, .momentum = 0.5});
    for (int i = 0; i != refusals; ++i) {
      CHECK_FALSE(error_text<Error>([&] { sgd.step(); }).empty());
    }
    for (int step = 0; step != 2; ++step) {
      accumulate(model, tiny_features, {}, step);
      sgd.step();
    }
    return weights_of(model);
  };
  CHECK(trained(3) == trained(0));
}

TEST_CASE("Sgd refuses settings that torch.optim.SGD refuses, and a momentum that only grows") {
  comm::Self world;
  ShardedModule<Linear<3, 2>, MeanSquaredError<2>> model(world, {.batch = 2, .threads = 1});
  for (optim::SgdOptions const& bad : {optim::SgdOptions{.learning_rate = -1}, optim::SgdOptions{.momentum = -0.1},
                                       optim::SgdOptions{.momentum = 1}, optim::SgdOptions{.weight_decay = -1}}) {
    std::string const text = error_text<InvalidArgument>([&] { optim::Sgd(model, bad); });
    CHECK(contains(text, "cleave::optim::Sgd"));
    CHECK(contains(text, "Change SgdOptions"));
  }
}
