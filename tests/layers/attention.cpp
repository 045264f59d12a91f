#include <cleave/layers/attention.hpp>

#include <cmath>

#include <doctest/doctest.h>

#include "../support/gradient_error.hpp"
#include "../support/layer_run.hpp"

using namespace cleave;
using testing::gradient_tolerance;

namespace {

constexpr LinearOptions conv1d{.layout = WeightLayout::in_out};

/// softmax(q k^T / sqrt(head width), causal) v from the definition, with whole matrices.
template <int Width, int Heads>
std::vector<double> attend(std::vector<double> const& qkv, Shape shape) {
  constexpr int head = Width / Heads;
  auto const at = [&](Index row, int third, int column) {
    return qkv[static_cast<std::size_t>(row * 3 * Width + third * Width + column)];
  };
  std::vector<double> out(static_cast<std::size_t>(shape.rows() * Width), 0);
  for (Index row = 0; row != shape.rows(); ++row) {
    for (int h = 0; h != Heads; ++h) {
      std::vector<double> weight;
      double sum = 0;
      Index const start = row - row % shape.sequence;
      for (Index other = start; other <= row; ++other) {
        double score = 0;
        for (int c = h * head; c != (h + 1) * head; ++c) {
          score += at(row, 0, c) * at(other, 1, c);
        }
        weight.push_back(std::exp(score / std::sqrt(static_cast<double>(head))));
        sum += weight.back();
      }
      for (Index other = start; other <= row; ++other) {
        for (int c = h * head; c != (h + 1) * head; ++c) {
          out[static_cast<std::size_t>(row * Width + c)] +=
              weight[static_cast<std::size_t>(other - start)] / sum * at(other, 2, c);
        }
      }
    }
  }
  return out;
}

} // namespace

static_assert(saves_output<CausalAttention<4, 2>> && !saves_output<CausalSelfAttention<4, 2>>);
static_assert(CausalSelfAttention<4, 2>::inputs == 4 && CausalSelfAttention<4, 2>::outputs == 4);

TEST_CASE_TEMPLATE("attention's backward is the derivative of its forward", L, CausalAttention<1, 1>,
                   CausalAttention<6, 2>, CausalAttention<6, 6>, CausalSelfAttention<4, 2>,
                   CausalSelfAttention<6, 3, conv1d>, CausalSelfAttention<5, 1, LinearOptions{.bias = false}>) {
  CHECK_LT(testing::gradient_error<L>(), gradient_tolerance);
}

TEST_CASE("attention's derivative holds over sequences longer than a block") {
  auto const errors = testing::check_gradient<CausalAttention<4, 2>>({.shape = {1, 71}});
  CHECK_LT(errors.input, gradient_tolerance);
}

TEST_CASE_TEMPLATE("attention equals the definition", L, CausalAttention<6, 2>, CausalAttention<5, 1>,
                   CausalAttention<8, 8>) {
  for (Shape const shape : {Shape{1, 1}, Shape{3, 1}, Shape{2, 5}, Shape{2, 130}}) {
    auto const run = testing::random_run<L>(shape);
    auto const wanted = attend < L::outputs, L::outputs == 6 ? 2 : L::outputs == 5 ? 1 : 8 > (run.input, shape);
    CHECK_LT(testing::distance(testing::run_layer<double>(run).y, wanted), 1e-13);
    CHECK_LT(testing::distance(testing::run_layer<float>(run).y, wanted), 1e-5);
  }
}

TEST_CASE("changing a later row changes no earlier output, bit for bit") {
  auto run = testing::random_run<CausalSelfAttention<8, 2>>({1, 100});
  auto const before = testing::run_layer<float>(run).y;
  for (std::size_t i = 60 * 8; i != run.input.size(); ++i) {
    run.input[i] = 50 - run.input[i];
  }
  auto const after = testing::run_layer<float>(run).y;
  CHECK(std::equal(before.begin(), before.begin() + 60 * 8, after.begin()));
  CHECK_FALSE(std::equal(before.begin() + 60 * 8, before.end(), after.begin() + 60 * 8));
}

TEST_CASE("sequences of a batch do not see each other, bit for bit") {
  auto const both = testing::random_run<CausalAttention<8, 2>>({2, 33});
  auto second = both;
  second.shape.batch = 1;
  second.input.erase(second.input.begin(), second.input.begin() + 33 * 24);
  second.dy.erase(second.dy.begin(), second.dy.begin() + 33 * 8);
  auto const together = testing::run_layer<float>(both);
  auto const alone = testing::run_layer<float>(second);
  CHECK(std::equal(alone.y.begin(), alone.y.end(), together.y.begin() + 33 * 8));
  CHECK(std::equal(alone.dx.begin(), alone.dx.end(), together.dx.begin() + 33 * 24));
}

TEST_CASE("attention keeps no sequence x sequence matrix") {
  constexpr auto bytes = [](Index sequence) {
    return testing::planned_bytes<float, CausalAttention<8, 2>>({1, sequence});
  };
  static_assert(bytes(4096) == 2 * bytes(2048));
}

TEST_CASE_TEMPLATE("attention in float and bfloat16 is near double", L, CausalAttention<32, 2>,
                   CausalSelfAttention<32, 2>) {
  auto run = testing::random_run<L>({2, 40});
  for (double& weight : run.weights) {
    weight /= 6;
  }
  auto const errors = testing::compare_types(run);
  CHECK_LT(errors.single, 1e-5);
  CHECK_LT(errors.half, 0.03);
}
