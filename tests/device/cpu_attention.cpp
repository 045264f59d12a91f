#include <cleave/device/cpu.hpp>

#include <cmath>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "../support/error_text.hpp"
#include "../support/tensors.hpp"

namespace cleave::testing {
namespace {

struct Problem {
  Index batch;
  Index sequence;
  Index heads;
  Index width; ///< of a head

  [[nodiscard]] Index rows() const { return batch * sequence; }
  [[nodiscard]] Index columns() const { return heads * width; }
};

/// Attention and its gradient, from the definition, in double, with the whole matrix of weights.
struct Definition {
  Tensor<double> out;
  Tensor<double> log_sum;
  Tensor<double> dqkv;
};

template <typename T>
Definition define(Problem const& p, Tensor<T> const& qkv, Tensor<T> const& dout) {
  Definition d{Tensor<double>(p.rows(), p.columns()), Tensor<double>(p.rows(), p.heads),
               Tensor<double>(p.rows(), 3 * p.columns())};
  std::fill_n(d.out.view().data, p.rows() * p.columns(), 0.0);
  std::fill_n(d.dqkv.view().data, p.rows() * 3 * p.columns(), 0.0);
  double const scale = 1 / std::sqrt(static_cast<double>(p.width));
  std::vector<double> weight(static_cast<std::size_t>(p.sequence));
  std::vector<double> dweight(static_cast<std::size_t>(p.sequence));
  for (Index job = 0; job != p.rows() * p.heads; ++job) {
    Index const row = job / p.heads;
    Index const q = job % p.heads * p.width;
    Index const k = q + p.columns();
    Index const v = k + p.columns();
    Index const start = row / p.sequence * p.sequence;
    double sum = 0;
    for (Index other = start; other <= row; ++other) {
      double score = 0;
      for (Index c = 0; c != p.width; ++c) {
        score += qkv.at(row, q + c) * qkv.at(other, k + c) * scale;
      }
      weight[static_cast<std::size_t>(other - start)] = std::exp(score);
      sum += std::exp(score);
    }
    d.log_sum(row, job % p.heads) = std::log(sum);
    double mean = 0;
    for (Index other = start; other <= row; ++other) {
      auto& w = weight[static_cast<std::size_t>(other - start)];
      auto& dw = dweight[static_cast<std::size_t>(other - start)] = 0;
      w /= sum;
      for (Index c = 0; c != p.width; ++c) {
        d.out(row, q + c) += w * qkv.at(other, v + c);
        d.dqkv(other, v + c) += w * dout.at(row, q + c);
        dw += dout.at(row, q + c) * qkv.at(other, v + c);
      }
      mean += w * dw;
    }
    for (Index other = start; other <= row; ++other) {
      auto const i = static_cast<std::size_t>(other - start);
      double const dscore = weight[i] * (dweight[i] - mean) * scale;
      for (Index c = 0; c != p.width; ++c) {
        d.dqkv(row, q + c) += dscore * qkv.at(other, k + c);
        d.dqkv(other, k + c) += dscore * qkv.at(row, q + c);
      }
    }
  }
  return d;
}

template <typename T>
void check(Problem const& p, int threads, double tolerance) {
  using A = accumulator_t<T>;
  CAPTURE(p.sequence);
  CAPTURE(p.width);
  std::mt19937 engine(61);
  device::Cpu::Stream stream({.threads = threads});
  auto const qkv = random_tensor<T>(engine, p.rows(), 3 * p.columns(), 2, 1.5);
  auto const dout = random_tensor<T>(engine, p.rows(), p.columns(), 1);
  Tensor<T> out(p.rows(), p.columns(), 3);
  Tensor<A> log_sum(p.rows(), p.heads, 1);
  Tensor<T> dqkv(p.rows(), 3 * p.columns(), 5);
  auto const expected = define(p, qkv, dout);
  stream.run(op::CausalAttention{p.sequence, p.heads}, out.view(), log_sum.view(), qkv.view());
  CHECK_LT(error_of(out, [&](Index r, Index c) { return expected.out.at(r, c); }), tolerance);
  CHECK_LT(error_of(log_sum, [&](Index r, Index c) { return expected.log_sum.at(r, c); }), 100);
  stream.run(op::CausalAttentionGradient{p.sequence, p.heads}, dqkv.view(), dout.view(), out.view(), log_sum.view(),
             qkv.view());
  CHECK_LT(error_of(dqkv, [&](Index r, Index c) { return expected.dqkv.at(r, c); }), 4 * tolerance);
  CHECK(out.gaps_untouched());
  CHECK(log_sum.gaps_untouched());
  CHECK(dqkv.gaps_untouched());
}

} // namespace

TEST_CASE_TEMPLATE("attention in blocks, and its gradient, equal the definition", T, float, double, bfloat16) {
  double const tolerance = std::is_same_v<T, bfloat16> ? 2 : 200;
  for (int threads : {1, 2}) {
    check<T>({1, 1, 1, 1}, threads, tolerance);
    check<T>({2, 3, 2, 5}, threads, tolerance);
    check<T>({3, 64, 2, 16}, threads, tolerance);
    check<T>({1, 65, 3, 8}, threads, tolerance);
    check<T>({2, 200, 2, 32}, threads, tolerance);
    check<T>({1, 40, 1, 300}, threads, tolerance); // wide heads are worked on in smaller blocks
  }
}

TEST_CASE("attention never looks ahead: later keys and values may be anything") {
  std::mt19937 engine(62);
  device::Cpu::Stream stream;
  Problem const p{1, 150, 2, 8};
  auto qkv = random_tensor<float>(engine, p.rows(), 3 * p.columns());
  Tensor<float> out(p.rows(), p.columns());
  Tensor<float> again(p.rows(), p.columns());
  Tensor<float> log_sum(p.rows(), p.heads);
  stream.run(op::CausalAttention{p.sequence, p.heads}, out.view(), log_sum.view(), qkv.view());
  stream.run(op::Fill{1e6}, Vector<float>{qkv.view().row(90).data, 60 * 3 * p.columns()});
  stream.run(op::CausalAttention{p.sequence, p.heads}, again.view(), log_sum.view(), qkv.view());
  CHECK_EQ(error_of(Tensor<float>(again), [&](Index r, Index c) { return r < 90 ? out.at(r, c) : again.at(r, c); }), 0);
}

TEST_CASE("attention says which head is too wide for the tiles") {
  device::Cpu::Stream stream;
  Index const width = 200000;
  Tensor<float> qkv(1, 3 * width);
  Tensor<float> out(1, width);
  Tensor<float> log_sum(1, 1);
  std::string const text = error_text<InvalidArgument>([&] {
    stream.run(op::CausalAttention{1, 1}, out.view(), log_sum.view(), qkv.view());
  });
  CHECK(contains(text, "200000"));
}

} // namespace cleave::testing
