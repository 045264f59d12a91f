#include <cleave/device/cpu.hpp>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include <doctest/doctest.h>

#include "../support/tensors.hpp"

namespace cleave::testing {
namespace {

using op::Elementwise;

double function(Elementwise kind, double x) {
  switch (kind) {
  case Elementwise::gelu_tanh:
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
  case Elementwise::gelu_exact:
    return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
  case Elementwise::relu:
    return std::fmax(x, 0);
  case Elementwise::silu:
    return x / (1 + std::exp(-x));
  case Elementwise::tanh:
    return std::tanh(x);
  case Elementwise::sigmoid:
    break;
  }
  return 1 / (1 + std::exp(-x));
}

double central_difference(Elementwise kind, double x) {
  constexpr double h = 1e-5;
  return (function(kind, x + h) - function(kind, x - h)) / (2 * h);
}

/// Values over the whole range in which the functions do something, and far outside.
template <typename T>
Tensor<T> arguments(Index rows, Index columns, Index padding) {
  Tensor<T> x(rows, columns, padding);
  for (Index i = 0; i != rows * columns; ++i) {
    double const u = 2 * (static_cast<double>(i) + 0.3) / static_cast<double>(rows * columns) - 1;
    x(i / columns, i % columns) = static_cast<T>(static_cast<float>(10 * u + 90 * std::pow(u, 15)));
  }
  return x;
}

template <Elementwise F, typename T>
void check_function(Index padding, double tolerance, double slope_tolerance) {
  device::Cpu::Stream stream({.threads = 2});
  auto const x = arguments<T>(37, 1201, padding);
  Tensor<T> y(37, 1201, padding);
  stream.run(op::Activation<F>{}, y.view(), x.view());
  CHECK_LT(error_of(y, [&](Index r, Index c) { return function(F, x.at(r, c)); }), tolerance);
  std::mt19937 engine(5);
  auto const dy = random_tensor<T>(engine, 37, 1201, padding);
  auto dx = dy;
  stream.run(op::ActivationGradient<F>{}, dx.view(), dx.view(), x.view());
  CHECK_LT(error_of(dx, [&](Index r, Index c) { return dy.at(r, c) * central_difference(F, x.at(r, c)); }),
           slope_tolerance);
  CHECK(y.gaps_untouched());
  CHECK(dx.gaps_untouched());
}

/// Vector instructions, whole or in part, and what remains at the end of a row must agree to the bit.
template <Elementwise F, typename T>
void check_places() {
  device::Cpu::Stream stream;
  constexpr Index n = 200;
  Tensor<T> x(1, n);
  for (float const value : {0.7317F, -1.1234F, 3.3F}) {
    stream.run(op::Fill{value}, x.vector());
    for (Index size : {1, 15, 17, 63, 64, 100, 131}) {
      Tensor<T> y(1, n);
      Tensor<T> dx(1, n);
      stream.run(op::Activation<F>{}, y.view().column_slice(3, size), x.view().column_slice(5, size));
      stream.run(op::ActivationGradient<F>{}, dx.view().column_slice(3, size), x.view().column_slice(5, size),
                 x.view().column_slice(7, size));
      for (Index c = 4; c != 3 + size; ++c) {
        REQUIRE_EQ(y.at(0, c), y.at(0, 3));
        REQUIRE_EQ(dx.at(0, c), dx.at(0, 3));
      }
    }
  }
}

} // namespace

TEST_CASE_TEMPLATE("each activation equals its formula, and its gradient the formula's finite difference", T, float,
                   double, bfloat16) {
  bool const wide = std::is_same_v<T, double>;
  for (Index padding : {0, 5}) {
    double const tolerance = 8;
    double const slope = wide ? 1e-9 / unit_rounding<double> : 20; // the finite difference is only so good
    check_function<Elementwise::gelu_tanh, T>(padding, tolerance, slope);
    check_function<Elementwise::gelu_exact, T>(padding, tolerance, slope);
    check_function<Elementwise::relu, T>(padding, tolerance, slope);
    check_function<Elementwise::silu, T>(padding, tolerance, slope);
    check_function<Elementwise::tanh, T>(padding, tolerance, slope);
    check_function<Elementwise::sigmoid, T>(padding, tolerance, slope);
  }
}

TEST_CASE("exp and tanh in float are accurate to a few units in the last place") {
  double worst_exp = 0;
  double worst_tanh = 0;
  for (int i = -870000; i <= 870000; ++i) {
    float const x = static_cast<float>(i) * 1e-4F;
    double const exact = std::exp(static_cast<double>(x));
    worst_exp = std::fmax(worst_exp, std::fabs(static_cast<double>(detail::cpu::exponential(x)) / exact - 1));
    double const tanh = std::tanh(static_cast<double>(x));
    worst_tanh = std::fmax(worst_tanh,
                           i == 0 ? 0 : std::fabs(static_cast<double>(detail::cpu::hyperbolic_tangent(x)) / tanh - 1));
  }
  CHECK_LT(worst_exp, 2e-7);
  CHECK_LT(worst_tanh, 3e-7);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  CHECK_EQ(detail::cpu::exponential(-infinity), 0.0F);
  CHECK_EQ(detail::cpu::exponential(infinity), infinity);
  CHECK(std::isnan(detail::cpu::exponential(std::numeric_limits<float>::quiet_NaN())));
}

TEST_CASE_TEMPLATE("what an element becomes does not depend on where it stands", T, float, double, bfloat16) {
  check_places<Elementwise::gelu_tanh, T>();
  check_places<Elementwise::gelu_exact, T>();
  check_places<Elementwise::silu, T>();
  check_places<Elementwise::tanh, T>();
  check_places<Elementwise::sigmoid, T>();
}

TEST_CASE_TEMPLATE("Add, Copy and Fill touch each element of a view, and nothing else", T, float, double, bfloat16) {
  std::mt19937 engine(7);
  for (int threads : {1, 2}) {
    device::Cpu::Stream stream({.threads = threads});
    for (Index columns : {1, 63, 64, 333}) {
      auto const a = random_tensor<T>(engine, 150, columns, 2);
      auto const b = random_tensor<T>(engine, 150, columns, 3);
      Tensor<T> y(150, columns, 5);
      stream.run(op::Add{}, y.view(), a.view(), b.view());
      CHECK_LT(error_of(y, [&](Index r, Index c) { return a.at(r, c) + b.at(r, c); }), 1.01);
      stream.run(op::Copy{}, y.view(), a.view());
      CHECK_EQ(error_of(y, [&](Index r, Index c) { return a.at(r, c); }), 0);
      CHECK(y.gaps_untouched());
      stream.run(op::Fill{0.5}, y.view().row(3));
      CHECK_EQ(error_of(y, [&](Index r, Index c) { return r == 3 ? 0.5 : a.at(r, c); }), 0);
      stream.run(op::Add{}, y.view(), y.view(), y.view());
      CHECK_EQ(error_of(y, [&](Index r, Index c) { return r == 3 ? 1 : 2 * a.at(r, c); }), 0);
    }
  }
}

TEST_CASE("Cast rounds to nearest") {
  std::mt19937 engine(8);
  device::Cpu::Stream stream({.threads = 2});
  Index const n = 100003;
  auto const x = random_tensor<double>(engine, 1, n);
  Tensor<float> narrow(1, n);
  Tensor<bfloat16> narrower(1, n);
  Tensor<float> back(1, n);
  stream.run(op::Cast{}, narrow.vector(), x.vector());
  stream.run(op::Cast{}, narrower.vector(), narrow.vector());
  stream.run(op::Cast{}, back.vector(), narrower.vector());
  for (Index i = 0; i != n; ++i) {
    REQUIRE_EQ(narrow(0, i), static_cast<float>(x.at(0, i)));
    REQUIRE_EQ(narrower(0, i).bits, bfloat16(narrow(0, i)).bits);
    REQUIRE_EQ(static_cast<double>(back(0, i)), narrower.at(0, i));
  }
}

} // namespace cleave::testing
