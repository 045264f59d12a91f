#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include <cleave/core/random.hpp>
#include <cleave/device/cpu.hpp>
#include <cleave/layers/layer.hpp>

/// For people who write layers: is backward the derivative of forward?
namespace cleave::testing {

/// The largest differences found, relative to 1 + |derivative|.
struct GradientErrors {
  double input = 0;
  double parameters = 0;
};

struct GradientCheckOptions {
  Shape shape{2, 5};
  double step = 1e-5;       ///< of the central difference
  double dropout = 0;       ///< probability, for Dropout
  int columns = 6;          ///< features a row, for layers that take any
  std::uint64_t seed = 1;
};

namespace detail {

/// One layer in float64 on the CPU: its parameters, its input and the direction its output is weighed with, all random.
template <typename L>
class GradientCheck {
  using CheckPass = Pass<device::Cpu::Stream, double, double>;
  static constexpr bool from_tokens = vocabulary<L> > 0;

public:
  explicit GradientCheck(GradientCheckOptions options) : options_(options), memory_(Index{1} << 24) {
    Index next = 0;
    cleave::for_each_parameter<L>(Name{}, [&](Parameter const& parameter) {
      offsets_.push_back(next);
      next += parameter.shape.size();
    });
    parameters_ = random(next, 1);
    gradients_.assign(parameters_.size(), 0);
    input_ = random(rows() * columns(), 2);
    direction_ = random(rows() * outputs(), 3);
    for (Index r = 0; r != rows(); ++r) {
      tokens_.push_back(from_tokens ? static_cast<std::int32_t>((7 * r + 1) % std::max(1, vocabulary<L>)) : 0);
    }
  }

  GradientErrors run() {
    std::vector<double> dx(input_.size(), 0);
    differentiate(dx);
    GradientErrors errors;
    for (std::size_t i = 0; i != parameters_.size(); ++i) {
      errors.parameters = std::max(errors.parameters, difference(parameters_[i], gradients_[i]));
    }
    for (std::size_t i = 0; !from_tokens && i != input_.size(); ++i) {
      errors.input = std::max(errors.input, difference(input_[i], dx[i]));
    }
    return errors;
  }

private:
  [[nodiscard]] Index rows() const { return options_.shape.rows(); }
  [[nodiscard]] Index columns() const { return L::inputs == any_width ? options_.columns : L::inputs; }
  [[nodiscard]] Index outputs() const { return L::outputs == any_width ? columns() : L::outputs; }

  [[nodiscard]] std::vector<double> random(Index size, std::uint64_t stream) const {
    std::vector<double> values;
    for (Index i = 0; i != size; ++i) {
      auto const word = philox({static_cast<std::uint32_t>(i), 0, 0, 0}, derive_key(options_.seed, stream));
      values.push_back(2 * uniform(word[0]) - 1);
    }
    return values;
  }

  template <typename F>
  void with_pass(F f) {
    Arena arena(memory_.data(), memory_.size());
    CheckPass pass{stream_, arena, options_.shape, true, options_.dropout, options_.seed};
    typename L::template Saved<double> saved{};
    Matrix<double> const y = pass.activation(outputs());
    Slots<double const> const weights(parameters_.data(), offsets_.data());
    if constexpr (from_tokens) {
      L::forward(pass, weights, Tokens{tokens_.data(), rows()}, y, saved);
    } else {
      L::forward(pass, weights, Matrix<double const>(input_.data(), rows(), columns()), y, saved);
    }
    f(pass, weights, y, saved);
  }

  [[nodiscard]] double value() {
    double sum = 0;
    with_pass([&](CheckPass&, auto const&, Matrix<double> y, auto const&) {
      for (std::size_t i = 0; i != direction_.size(); ++i) {
        sum += y.data[i] * direction_[i];
      }
    });
    return sum;
  }

  void differentiate(std::vector<double>& dx) {
    with_pass([&](CheckPass& pass, auto const& weights, Matrix<double>, auto const& saved) {
      Matrix<double const> const dy(direction_.data(), rows(), outputs());
      Matrix<double> const wanted = from_tokens ? Matrix<double>{} : Matrix<double>(dx.data(), rows(), columns());
      L::backward(pass, weights, Slots<double>(gradients_.data(), offsets_.data()), saved, dy, wanted);
    });
  }

  /// How far `derivative` is from the central difference in `x`.
  [[nodiscard]] double difference(double& x, double derivative) {
    double const kept = x;
    x = kept + options_.step;
    double const up = value();
    x = kept - options_.step;
    double const down = value();
    x = kept;
    double const expected = (up - down) / (2 * options_.step);
    return std::abs(derivative - expected) / (1 + std::abs(expected));
  }

  GradientCheckOptions options_;
  device::Cpu::Memory memory_;
  device::Cpu::Stream stream_;
  std::vector<Index> offsets_;
  std::vector<double> parameters_;
  std::vector<double> gradients_;
  std::vector<double> input_;
  std::vector<double> direction_;
  std::vector<std::int32_t> tokens_;
};

} // namespace detail

/// Compares backward of a layer with central differences of forward, in float64, at random parameters and input. Both
/// errors of a right layer are below 1e-7 or so. (torch.autograd.gradcheck.)
///
///     CHECK_LT(testing::check_gradient<MyLayer>().parameters, 1e-7);
template <layer L>
[[nodiscard]] GradientErrors check_gradient(GradientCheckOptions options = {}) {
  return detail::GradientCheck<L>(options).run();
}

} // namespace cleave::testing
