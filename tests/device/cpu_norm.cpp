#include <cleave/device/cpu.hpp>

#include <cmath>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "../support/tensors.hpp"

namespace cleave::testing {
namespace {

struct Statistics {
  double mean;
  double rstd;
};

template <typename T>
Statistics statistics(Tensor<T> const& x, Index r, double epsilon) {
  double mean = 0;
  double variance = 0;
  auto const n = static_cast<double>(x.columns());
  for (Index c = 0; c != x.columns(); ++c) {
    mean += x.at(r, c) / n;
  }
  for (Index c = 0; c != x.columns(); ++c) {
    variance += (x.at(r, c) - mean) * (x.at(r, c) - mean) / n;
  }
  return {mean, 1 / std::sqrt(variance + epsilon)};
}

} // namespace

TEST_CASE_TEMPLATE("LayerNorm gives each row mean zero and variance one, then gain and bias", T, float, double,
                   bfloat16) {
  using A = accumulator_t<T>;
  std::mt19937 engine(21);
  for (int threads : {1, 2}) {
    device::Cpu::Stream stream({.threads = threads});
    for (Index columns : {1, 5, 64, 191}) {
      auto x = random_tensor<T>(engine, 200, columns, 3);
      x(1, 0) = static_cast<T>(100.0F); // far from the mean
      auto const gain = random_tensor<T>(engine, 1, columns);
      auto const bias = random_tensor<T>(engine, 1, columns);
      Tensor<T> y(200, columns, 1);
      Tensor<A> mean(1, 200);
      Tensor<A> rstd(1, 200);
      stream.run(op::LayerNorm{1e-3}, y.view(), mean.vector(), rstd.vector(), x.view(), gain.vector(), bias.vector());
      CHECK_LT(error_of(y,
                        [&](Index r, Index c) {
                          auto const s = statistics(x, r, 1e-3);
                          return (x.at(r, c) - s.mean) * s.rstd * gain.at(0, c) + bias.at(0, c);
                        }),
               60);
      CHECK_LT(error_of(mean, [&](Index, Index r) { return statistics(x, r, 1e-3).mean; }), 8);
      CHECK_LT(error_of(rstd, [&](Index, Index r) { return statistics(x, r, 1e-3).rstd; }), 30);
      CHECK(y.gaps_untouched());
    }
  }
}

TEST_CASE("LayerNorm keeps its accuracy when the mean is large beside the deviation") {
  std::mt19937 engine(22);
  device::Cpu::Stream stream;
  auto x = random_tensor<float>(engine, 1, 768);
  for (Index c = 0; c != 768; ++c) {
    x(0, c) += 1000.0F;
  }
  Tensor<float> y(1, 768);
  Tensor<float> gain(1, 768);
  Tensor<float> bias(1, 768);
  Tensor<float> mean(1, 1);
  Tensor<float> rstd(1, 1);
  stream.run(op::Fill{1}, gain.vector());
  stream.run(op::Fill{0}, bias.vector());
  stream.run(op::LayerNorm{}, y.view(), mean.vector(), rstd.vector(), x.view(), gain.vector(), bias.vector());
  auto const s = statistics(x, 0, 1e-5);
  CHECK_LT(std::fabs(rstd.at(0, 0) / s.rstd - 1), 1e-5);
}

TEST_CASE("LayerNormGradient equals finite differences of LayerNorm, and adds to the parameters' gradients") {
  std::mt19937 engine(23);
  device::Cpu::Stream stream;
  for (Index columns : {2, 7, 70}) {
    Index const rows = 5;
    auto x = random_tensor<double>(engine, rows, columns, 2);
    auto gain = random_tensor<double>(engine, 1, columns);
    auto bias = random_tensor<double>(engine, 1, columns);
    auto const dy = random_tensor<double>(engine, rows, columns, 1);
    Tensor<double> y(rows, columns);
    Tensor<double> mean(1, rows);
    Tensor<double> rstd(1, rows);
    auto const loss = [&] {
      stream.run(op::LayerNorm{}, y.view(), mean.vector(), rstd.vector(), x.view(), gain.vector(), bias.vector());
      double sum = 0;
      for (Index i = 0; i != rows * columns; ++i) {
        sum += y.at(i / columns, i % columns) * dy.at(i / columns, i % columns);
      }
      return sum;
    };
    auto const slope = [&](Tensor<double>& tensor, Index r, Index c) {
      double const h = 1e-5;
      double const value = tensor.at(r, c);
      tensor(r, c) = value + h;
      double const up = loss();
      tensor(r, c) = value - h;
      double const down = loss();
      tensor(r, c) = value;
      return (up - down) / (2 * h);
    };
    loss();
    Tensor<double> dx(rows, columns, 4);
    Tensor<double> dgain(1, columns);
    Tensor<double> dbias(1, columns);
    stream.run(op::Fill{10}, dgain.vector());
    stream.run(op::Fill{20}, dbias.vector());
    stream.run(op::LayerNormGradient{}, dx.view(), dgain.vector(), dbias.vector(), dy.view(), x.view(), mean.vector(),
               rstd.vector(), gain.vector());
    double const tolerance = 1e-7 / unit_rounding<double>;
    CHECK_LT(error_of(dx, [&](Index r, Index c) { return slope(x, r, c); }), tolerance);
    CHECK_LT(error_of(dgain, [&](Index, Index c) { return 10 + slope(gain, 0, c); }), tolerance);
    CHECK_LT(error_of(dbias, [&](Index, Index c) { return 20 + slope(bias, 0, c); }), tolerance);
    CHECK(dx.gaps_untouched());
  }
}

TEST_CASE_TEMPLATE("LayerNormGradient in each type equals that in double, on any number of threads, and without dx", T,
                   float, bfloat16) {
  using A = accumulator_t<T>;
  std::mt19937 engine(24);
  for (int threads : {1, 2}) {
    device::Cpu::Stream stream({.threads = threads});
    Index const rows = 300;
    Index const columns = 131;
    auto const x = random_tensor<T>(engine, rows, columns, 2);
    auto const dy = random_tensor<T>(engine, rows, columns, 2);
    auto const gain = random_tensor<T>(engine, 1, columns);
    Tensor<A> mean(1, rows);
    Tensor<A> rstd(1, rows);
    std::vector<Statistics> exact;
    for (Index r = 0; r != rows; ++r) {
      exact.push_back(statistics(x, r, 1e-5));
      mean(0, r) = static_cast<A>(exact.back().mean);
      rstd(0, r) = static_cast<A>(exact.back().rstd);
    }
    auto const at = [&](Index r) { return exact[static_cast<std::size_t>(r)]; };
    auto const normal = [&](Index r, Index c) { return (x.at(r, c) - at(r).mean) * at(r).rstd; };
    Tensor<double> mean_d(1, rows);
    Tensor<double> mean_dn(1, rows);
    for (Index r = 0; r != rows; ++r) {
      mean_d(0, r) = 0;
      mean_dn(0, r) = 0;
      for (Index c = 0; c != columns; ++c) {
        double const d = dy.at(r, c) * gain.at(0, c) / static_cast<double>(columns);
        mean_d(0, r) += d;
        mean_dn(0, r) += d * normal(r, c);
      }
    }
    Tensor<T> dx(rows, columns, 1);
    Tensor<float> dgain(1, columns);
    Tensor<float> dbias(1, columns);
    stream.run(op::Fill{0}, dgain.vector());
    stream.run(op::Fill{0}, dbias.vector());
    auto const run = [&](Matrix<T> target) {
      stream.run(op::LayerNormGradient{}, target, dgain.vector(), dbias.vector(), dy.view(), x.view(), mean.vector(),
                 rstd.vector(), gain.vector());
    };
    run(Matrix<T>{});
    run(dx.view());
    CHECK_LT(error_of(dx,
                      [&](Index r, Index c) {
                        return at(r).rstd *
                               (dy.at(r, c) * gain.at(0, c) - mean_d.at(0, r) - normal(r, c) * mean_dn.at(0, r));
                      }),
             20);
    auto const sum = [&](auto const& f) {
      double total = 0;
      for (Index r = 0; r != rows; ++r) {
        total += 2 * f(r); // run twice, added twice
      }
      return total;
    };
    CHECK_LT(error_of(dgain, [&](Index, Index c) { return sum([&](Index r) { return dy.at(r, c) * normal(r, c); }); }),
             300);
    CHECK_LT(error_of(dbias, [&](Index, Index c) { return sum([&](Index r) { return dy.at(r, c); }); }), 300);
  }
}

TEST_CASE_TEMPLATE("ColumnSums adds each column's sum, on any number of threads to the same bits", T, float, double,
                   bfloat16) {
  std::mt19937 engine(25);
  for (Index columns : {1, 64, 300}) {
    auto const x = random_tensor<T>(engine, 500, columns, 3);
    Tensor<accumulator_t<T>> sums[2];
    for (int threads : {1, 2}) {
      device::Cpu::Stream stream({.threads = threads});
      auto& mine = sums[threads - 1] = Tensor<accumulator_t<T>>(1, columns);
      stream.run(op::Fill{1}, mine.vector());
      stream.run(op::ColumnSums{}, mine.vector(), x.view());
      CHECK_LT(error_of(mine,
                        [&](Index, Index c) {
                          double sum = 1;
                          for (Index r = 0; r != 500; ++r) {
                            sum += x.at(r, c);
                          }
                          return sum;
                        }),
               300);
    }
    CHECK(sums[0].storage() == sums[1].storage());
  }
}

TEST_CASE("SquareSum adds the sum of squares in double, on any number of threads to the same bits") {
  std::mt19937 engine(26);
  for (Index n : {1, 100, 4096, 5000001}) {
    auto const x = random_tensor<float>(engine, 1, n);
    double expected = 3;
    for (float const value : x.storage()) {
      expected += static_cast<double>(value) * static_cast<double>(value);
    }
    double sums[2] = {3, 3};
    for (int threads : {1, 2}) {
      device::Cpu::Stream stream({.threads = threads});
      stream.run(op::SquareSum{}, &sums[threads - 1], x.vector());
    }
    CHECK_LT(std::fabs(sums[0] / expected - 1), 1e-12);
    CHECK_EQ(sums[0], sums[1]);
  }
}

} // namespace cleave::testing
