#include <cleave/optim/clip.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include <cleave/optim/sgd.hpp>
#include <doctest/doctest.h>

#include "support/error_text.hpp"
#include "support/optimizer_run.hpp"

using namespace cleave;
using namespace cleave::testing;

namespace {

/// The two outputs of a Linear without bias, all weights 0.01, of an input of 0.1; the loss is their sum.
template <typename Sharding>
struct Numbers {
  using Model =
      ShardedModule<Linear<32, 2, LinearOptions{.bias = false}>, precision::Full<double>, comm::Threads, Sharding>;
  double norm = 0, clipped_norm = 0, norm_once_more = 0;
  double least_gradient = 0, largest_gradient = 0, step = 0;
  friend bool operator==(Numbers const&, Numbers const&) = default;

  explicit Numbers(comm::Threads& world, double most) {
    Model model(world, {.threads = 1});
    model.for_each_kept(true,
                        [](auto& stream, auto&&, auto&&, auto, auto weights) { stream.run(op::Fill{0.01}, weights); });
    static_cast<void>(model.forward(std::vector<double>(32, 0.1)));
    model.backward(std::vector<double>(2, 1.0), 1);
    norm = optim::clip_gradient_norm(model, most);
    auto const gradients = gradients_of(model).at("0.weight");
    auto const [least, largest] = std::minmax_element(gradients.begin(), gradients.end());
    least_gradient = *least;
    largest_gradient = *largest;
    clipped_norm = model.gradient_norm();
    norm_once_more = optim::clip_gradient_norm(model, most);
    optim::Sgd(model, {.learning_rate = 1}).step();
    step = 0.01 - weights_of(model).at("0.weight")[40];
  }
};

template <typename Sharding>
void clips() {
  for (int const ranks : {1, 2, 5}) {
    CAPTURE(ranks);
    comm::Threads::run(ranks, [&](comm::Threads& world) {
      Numbers<Sharding> const mild(world, 1);
      CHECK(std::abs(mild.norm - 0.8) < 1e-12);
      CHECK_EQ(mild.clipped_norm, mild.norm);
      CHECK(std::abs(mild.least_gradient - 0.1) < 1e-12);
      CHECK(std::abs(mild.largest_gradient - 0.1) < 1e-12);
      CHECK(std::abs(mild.step - 0.1) < 1e-12);
      Numbers<Sharding> const hard(world, 0.08);
      double const factor = 0.08 / (0.8 + 1e-6); // PyTorch's
      CHECK_EQ(hard.norm, mild.norm);
      CHECK(std::abs(hard.clipped_norm - 0.8 * factor) < 1e-12);
      CHECK(std::abs(hard.norm_once_more - 0.8 * factor) < 1e-12);
      CHECK(std::abs(hard.least_gradient - 0.1 * factor) < 1e-12);
      CHECK(std::abs(hard.largest_gradient - 0.1 * factor) < 1e-12);
      double const second_factor = 0.08 / (0.8 * factor + 1e-6);
      CHECK(std::abs(hard.step - 0.1 * factor * second_factor) < 1e-12);
    });
  }
}

} // namespace

TEST_CASE("64 gradients of 0.1 have a norm of 0.8, and are clipped to what is asked, sharded or not") {
  clips<sharding::Full>();
  clips<sharding::None>();
}

TEST_CASE("the norm is that of all gradients together") {
  comm::Threads::run(3, [](comm::Threads& world) {
    TinyMlp<precision::Full<double>> model(world, {.batch = 2, .seed = 5, .threads = 1});
    accumulate(model, tiny_features, {.micro_batches = 2}, 0);
    double sum = 0;
    for (auto const& [name, values] : gradients_of(model)) {
      for (double const value : values) {
        sum += value * value;
      }
    }
    CHECK(std::abs(optim::clip_gradient_norm(model, 0.5) - std::sqrt(sum)) < 1e-13);
  });
}

TEST_CASE("Clipping to no norm at all is refused, and a gradient that is no number stays one") {
  comm::Self world;
  ShardedModule<Linear<3, 2>, precision::Full<double>> model(world, {.threads = 1});
  auto const accumulate_gradient = [&](double value) {
    static_cast<void>(model.forward(std::vector<double>(3, 1.0)));
    model.backward(std::vector<double>(2, value), 1);
  };
  accumulate_gradient(1);
  for (double const most : {0.0, -1.0, std::nan("")}) {
    CAPTURE(most);
    CHECK(contains(error_text<InvalidArgument>([&] { optim::clip_gradient_norm(model, most); }), "max_norm is"));
  }
  accumulate_gradient(std::nan(""));
  CHECK(std::isnan(optim::clip_gradient_norm(model, 1)));
  CHECK(std::isnan(model.gradient_scale()));
}
