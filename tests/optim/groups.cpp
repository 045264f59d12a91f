#include <cleave/optim/groups.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>

#include <cleave/optim/adamw.hpp>
#include <cleave/optim/sgd.hpp>
#include <doctest/doctest.h>

#include "support/optimizer_run.hpp"

using namespace cleave;
using namespace cleave::testing;

namespace {

/// The first layer learns at 1e-2, the second at 1e-6 and without decay.
struct ByLayer {
  static constexpr std::array scales{optim::GroupScale{}, optim::GroupScale{.learning_rate = 1e-4, .weight_decay = 0}};
  static constexpr std::size_t group_of(Parameter const& parameter) {
    return parameter.name.view().starts_with("2.") ? 1 : 0;
  }
};
static_assert(optim::parameter_groups<ByLayer>);
static_assert(!optim::parameter_groups<int>);

constexpr Parameter matrix{"weight", {3, 1}, init::zeros()};
constexpr Parameter vector{"bias", {3}, init::zeros()};
static_assert(optim::OneGroup::group_of(matrix) == optim::OneGroup::group_of(vector));
static_assert(optim::DecayMatrices::scales[optim::DecayMatrices::group_of(matrix)].weight_decay == 1);
static_assert(optim::DecayMatrices::scales[optim::DecayMatrices::group_of(vector)].weight_decay == 0);
static_assert(optim::DecayMatrices::scales[optim::DecayMatrices::group_of(vector)].learning_rate == 1);

using Model = TinyMlp<precision::Full<double>>;

/// The largest difference to a step of plain descent with a learning rate and a decay for each parameter.
template <typename Groups, typename Rate, typename Decay>
double difference(Rate rate, Decay decay) {
  return compare_with_reference<Model>(
      3, 4, [](Model& model) { return optim::Sgd(model, {.learning_rate = 1e-2, .weight_decay = 0.5}, Groups{}); },
      [](auto&, int) {},
      [&](ReferenceParameter& p, std::size_t i, double gradient, int) {
        p.weights[i] -= rate(p) * (gradient + decay(p) * p.weights[i]);
      });
}

} // namespace

TEST_CASE("groups of one's own are picked by full name, and scale learning rate and decay") {
  auto const second = [](ReferenceParameter const& p) { return p.name.starts_with("2."); };
  CHECK(difference<ByLayer>([&](auto const& p) { return second(p) ? 1e-6 : 1e-2; },
                            [&](auto const& p) { return second(p) ? 0 : 0.5; }) < 1e-14);
}

TEST_CASE("left out, matrices decay and vectors do not; in one group all do") {
  auto const rate = [](auto const&) { return 1e-2; };
  CHECK(difference<optim::DecayMatrices>(rate, [](auto const& p) { return p.is_vector ? 0 : 0.5; }) < 1e-14);
  CHECK(difference<optim::OneGroup>(rate, [](auto const&) { return 0.5; }) < 1e-14);
}

TEST_CASE("AdamW takes groups too: a layer of a ten-thousandth of the rate hardly moves") {
  comm::Threads::run(2, [](comm::Threads& world) {
    Model model(world, {.batch = 2, .seed = 5, .threads = 1});
    optim::AdamW adam(model, {.learning_rate = 1e-2, .weight_decay = 0}, ByLayer{});
    Values const before = weights_of(model);
    accumulate(model, tiny_features, {}, 0);
    adam.step();
    Values const after = weights_of(model);
    for (auto const& [name, values] : after) {
      double const wanted = name.starts_with("2.") ? 1e-6 : 1e-2; // the first step has the size of the rate
      for (std::size_t i = 0; i != values.size(); ++i) {
        CHECK(std::abs(std::abs(values[i] - before.at(name)[i]) - wanted) < 1e-4 * wanted);
      }
    }
  });
}
