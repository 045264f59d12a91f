#include <cleave/device/cpu.hpp>

#include <cmath>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "../support/tensors.hpp"

namespace cleave::testing {

TEST_CASE_TEMPLATE("AdamW follows the paper, on any number of threads to the same bits", T, float, double) {
  constexpr Index n = 40007;
  for (int threads : {1, 2}) {
    std::mt19937 engine(51);
    device::Cpu::Stream stream({.threads = threads});
    auto weights = random_tensor<T>(engine, 1, n);
    Tensor<T> first(1, n);
    Tensor<T> second(1, n);
    stream.run(op::Fill{0}, first.vector());
    stream.run(op::Fill{0}, second.vector());
    Tensor<double> w(1, n);
    Tensor<double> m(1, n);
    Tensor<double> v(1, n);
    stream.run(op::Cast{}, w.vector(), weights.vector());
    stream.run(op::Fill{0}, m.vector());
    stream.run(op::Fill{0}, v.vector());
    op::AdamW op{1e-2, 0.8, 0.95, 1e-6, 0.1, 0.5, 1};
    for (op.step = 1; op.step != 6; ++op.step) {
      auto const gradient = random_tensor<T>(engine, 1, n);
      stream.run(op, weights.vector(), first.vector(), second.vector(), gradient.vector());
      for (Index i = 0; i != n; ++i) {
        double const g = 0.5 * gradient.at(0, i);
        m(0, i) = 0.8 * m(0, i) + 0.2 * g;
        v(0, i) = 0.95 * v(0, i) + 0.05 * g * g;
        double const mean = m(0, i) / (1 - std::pow(0.8, op.step));
        double const square = v(0, i) / (1 - std::pow(0.95, op.step));
        w(0, i) = w(0, i) * (1 - 1e-2 * 0.1) - 1e-2 * mean / (std::sqrt(square) + 1e-6);
      }
      CHECK_LT(error_of(weights, [&](Index, Index i) { return w.at(0, i); }), 20);
      CHECK_LT(error_of(first, [&](Index, Index i) { return m.at(0, i); }), 10);
      CHECK_LT(error_of(second, [&](Index, Index i) { return v.at(0, i); }), 10);
    }
  }
}

TEST_CASE_TEMPLATE("Sgd follows torch.optim.SGD with and without momentum, Nesterov and decay", T, float, double) {
  constexpr Index n = 20011;
  for (double momentum : {0.0, 0.9}) {
    for (bool nesterov : {false, true}) {
      std::mt19937 engine(52);
      device::Cpu::Stream stream({.threads = 2});
      auto weights = random_tensor<T>(engine, 1, n);
      Tensor<T> buffer(1, n);
      stream.run(op::Fill{std::numeric_limits<double>::quiet_NaN()}, buffer.vector()); // the first step sets it
      Tensor<double> w(1, n);
      Tensor<double> b(1, n);
      stream.run(op::Cast{}, w.vector(), weights.vector());
      op::Sgd op{0.1, momentum, nesterov, 0.01, 2, 1};
      for (op.step = 1; op.step != 5; ++op.step) {
        auto const gradient = random_tensor<T>(engine, 1, n);
        stream.run(op, weights.vector(), momentum == 0 ? Vector<T>{} : buffer.vector(), gradient.vector());
        for (Index i = 0; i != n; ++i) {
          double const g = 2 * gradient.at(0, i) + 0.01 * w(0, i);
          b(0, i) = op.step == 1 || momentum == 0 ? g : momentum * b(0, i) + g;
          w(0, i) -= 0.1 * (nesterov && momentum != 0 ? g + momentum * b(0, i) : b(0, i));
        }
        CHECK_LT(error_of(weights, [&](Index, Index i) { return w.at(0, i); }), 20);
      }
    }
  }
}

TEST_CASE_TEMPLATE("an optimizer's result does not depend on threads or on how weights are sharded", T, float, double) {
  constexpr Index n = 70001;
  std::mt19937 engine(53);
  auto const start = random_tensor<T>(engine, 1, n);
  auto const gradient = random_tensor<T>(engine, 1, n);
  auto const train = [&](device::Cpu::Stream& stream, Index shard) {
    auto weights = start;
    Tensor<T> first(1, n);
    Tensor<T> second(1, n);
    stream.run(op::Fill{0.25}, first.vector());
    stream.run(op::Fill{0.5}, second.vector());
    for (Index i = 0; i < n; i += shard) {
      Index const count = std::min(shard, n - i);
      auto const mine = [&](auto vector) { return vector.slice(i, count); };
      stream.run(op::AdamW{1e-3, 0.9, 0.99, 1e-8, 0.1, 0.7, 3}, mine(weights.vector()), mine(first.vector()),
                 mine(second.vector()), mine(gradient.vector()));
      stream.run(op::Sgd{1e-3, 0.9, true, 0.1, 0.7, 3}, mine(weights.vector()), mine(first.vector()),
                 mine(gradient.vector()));
      stream.run(op::Sgd{1e-3, 0, false, 0.1, 0.7, 3}, mine(weights.vector()), Vector<T>{}, mine(gradient.vector()));
    }
    return weights;
  };
  device::Cpu::Stream one({.threads = 1});
  device::Cpu::Stream two({.threads = 2});
  auto const whole = train(one, n);
  for (Index shard : {1001, 23334, 35001}) {
    CHECK(train(one, shard).storage() == whole.storage());
    CHECK(train(two, shard).storage() == whole.storage());
  }
}

} // namespace cleave::testing
