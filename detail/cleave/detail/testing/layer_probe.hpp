#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include <cleave/detail/testing/probe.hpp>
#include <cleave/device/cpu.hpp>

namespace cleave::detail {

/// One layer in float64 on the CPU: its parameters, its input and the direction its output is weighed with, all random.
template <layer L>
class LayerProbe {
  static constexpr bool from_tokens = vocabulary<L> > 0;

public:
  explicit LayerProbe(testing::GradientCheckOptions options)
      : options_(options), parameters_(options.seed),
        input_(detail::probe_numbers(from_tokens ? 0 : rows() * columns(), options.seed, 2)),
        direction_(detail::probe_numbers(rows() * outputs(), options.seed, 3)), memory_(planned_bytes()) {
    for (Index r = 0; r != rows(); ++r) {
      tokens_.push_back(static_cast<std::int32_t>((7 * r + 1) % std::max(1, vocabulary<L>)));
    }
  }

  [[nodiscard]] testing::GradientErrors run() {
    // Twice, once without dx: gradients are added to, and do not depend on whether dx is wanted.
    std::vector<double> dx(input_.size(), std::numeric_limits<double>::quiet_NaN());
    differentiate({});
    differentiate(from_tokens ? Matrix<double>{} : Matrix<double>(dx.data(), rows(), columns()));
    auto const value = [this] { return this->value(); };
    testing::GradientErrors errors;
    errors.input = detail::derivative_error(input_, dx, options_.step, value);
    errors.parameters = detail::derivative_error(parameters_.values(), parameters_.added(2), options_.step, value);
    return errors;
  }

private:
  template <typename Stream>
  using ProbePass = Pass<Stream, double, double>;

  [[nodiscard]] Index rows() const { return options_.shape.rows(); }
  [[nodiscard]] Index columns() const { return L::inputs == any_width ? options_.columns : L::inputs; }
  [[nodiscard]] Index outputs() const { return L::outputs == any_width ? columns() : L::outputs; }

  [[nodiscard]] auto input() const {
    if constexpr (from_tokens) {
      return Tokens{tokens_.data(), rows()};
    } else {
      return Matrix<double const>(input_.data(), rows(), columns());
    }
  }

  /// Runs forward, then then(pass, saved, y).
  template <typename Stream, typename Then>
  void forward(Stream& stream, Arena& arena, Then then) {
    ProbePass<Stream> pass{stream, arena, options_.shape, true, options_.dropout, options_.seed};
    typename L::template Saved<double> saved{};
    Matrix<double> const y = pass.activation(outputs());
    L::forward(pass, parameters_.weights(), input(), y, saved);
    then(pass, saved, y);
  }
  template <typename Stream>
  void forward_and_backward(Stream& stream, Arena& arena, Matrix<double> dx) {
    forward(stream, arena, [&](auto& pass, auto const& saved, Matrix<double>) {
      Matrix<double const> const dy(direction_.data(), rows(), outputs());
      L::backward(pass, parameters_.weights(), parameters_.gradients(), saved, dy, dx);
    });
  }

  /// As an engine plans: what the layer cuts must not depend on values.
  [[nodiscard]] Index planned_bytes() {
    PlanningStream stream;
    Arena arena;
    forward_and_backward(stream, arena, from_tokens ? Matrix<double>{} : Matrix<double>(nullptr, rows(), columns()));
    return arena.high_water();
  }
  [[nodiscard]] double value() {
    Arena arena(memory_.data(), memory_.size());
    double sum = 0;
    forward(stream_, arena, [&](auto&, auto const&, Matrix<double> y) {
      for (std::size_t i = 0; i != direction_.size(); ++i) {
        sum += y.data[i] * direction_[i];
      }
    });
    return sum;
  }
  void differentiate(Matrix<double> dx) {
    Arena arena(memory_.data(), memory_.size());
    forward_and_backward(stream_, arena, dx);
  }

  testing::GradientCheckOptions options_;
  ProbeParameters<L> parameters_;
  std::vector<double> input_;
  std::vector<double> direction_;
  std::vector<std::int32_t> tokens_;
  device::Cpu::Memory memory_;
  device::Cpu::Stream stream_;
};

} // namespace cleave::detail
