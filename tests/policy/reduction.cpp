#include <cleave/policy/reduction.hpp>

#include <vector>

#include <doctest/doctest.h>

#include <cleave/comm/self.hpp>
#include <cleave/layers/cross_entropy.hpp>
#include <cleave/layers/linear.hpp>
#include <cleave/sharded/sharded_module.hpp>

using namespace cleave;

namespace {

/// Two micro-batches, of four rows that count and of one; two models, each gradient as a step would use it.
struct Result {
  double mean_loss = 0;
  std::vector<float> gradient;
};

struct MicroBatch {
  std::vector<float> input;
  std::vector<std::int32_t> targets;
};
MicroBatch const large{{1, 0, 0, 1, 2, 1, -1, 3}, {0, 1, 2, 0}};
MicroBatch const small{{1, 1, 5, 5, 0, 2, 1, 0}, {2, ignored_target, ignored_target, ignored_target}};

template <typename Reduction>
Result run(std::vector<MicroBatch> const& batches) {
  comm::Self self;
  ShardedModule<Linear<2, 3>, CrossEntropy<3>, Reduction> model(self, {.batch = 4, .seed = 9, .threads = 1});
  for (MicroBatch const& batch : batches) {
    model.backward(model.loss(batch.input, batch.targets));
  }
  Result result{model.mean_loss(), {}};
  model.visit_gradients([&](Name const&, Placement const&, std::span<float const> part) {
    result.gradient.insert(result.gradient.end(), part.begin(), part.end());
  });
  return result;
}

void check_weighted(Result const& both, Result const& first, double share, Result const& second, double other_share) {
  for (std::size_t i = 0; i != both.gradient.size(); ++i) {
    CHECK_EQ(both.gradient[i],
             doctest::Approx(share * first.gradient[i] + other_share * second.gradient[i]).epsilon(1e-5));
  }
}

} // namespace

static_assert(reduction::MeanOverWeight::seed(7) == 1 && reduction::MeanOverWeight::share(7) == 7);
static_assert(reduction::MeanOverRanks::seed(4) == 0.25 && reduction::MeanOverRanks::share(4) == 1 &&
              reduction::MeanOverRanks::seed(0) == 0);
static_assert(reduction::Sum::seed(7) == 1 && !reduction::Sum::divides);

TEST_CASE("over weight, a row counts the same whichever micro-batch holds it") {
  using R = reduction::MeanOverWeight;
  auto const both = run<R>({large, small});
  auto const first = run<R>({large});
  auto const second = run<R>({small});
  CHECK_EQ(both.mean_loss, doctest::Approx(0.8 * first.mean_loss + 0.2 * second.mean_loss));
  check_weighted(both, first, 0.8, second, 0.2);
}

TEST_CASE("over ranks, a micro-batch counts the same however few rows it has") {
  using R = reduction::MeanOverRanks;
  auto const both = run<R>({large, small});
  auto const first = run<R>({large});
  auto const second = run<R>({small});
  CHECK_EQ(both.mean_loss, doctest::Approx(0.5 * first.mean_loss + 0.5 * second.mean_loss));
  check_weighted(both, first, 0.5, second, 0.5);
  CHECK_EQ(first.mean_loss, doctest::Approx(run<reduction::MeanOverWeight>({large}).mean_loss));
}

TEST_CASE("a sum is not divided") {
  using R = reduction::Sum;
  auto const both = run<R>({large, small});
  check_weighted(both, run<R>({large}), 1, run<R>({small}), 1);
  check_weighted(both, run<reduction::MeanOverWeight>({large, small}), 5, run<R>({small}), 0);
}
