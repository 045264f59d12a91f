#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include <cleave/detail/testing/probe.hpp>
#include <cleave/device/cpu.hpp>

namespace cleave::detail {

/// One loss in float64 on the CPU: its parameters, its input and its targets, all random.
template <loss_layer L>
class LossProbe {
  static constexpr bool to_classes = std::is_same_v<typename L::Target, std::int32_t>;
  static constexpr double scale = 0.7; // any: the gradient is multiplied by it, the value is not

public:
  explicit LossProbe(testing::GradientCheckOptions options)
      : options_(options), parameters_(options.seed),
        input_(detail::probe_numbers(rows() * L::inputs, options.seed, 2)),
        targets_(detail::probe_numbers(rows() * L::inputs, options.seed, 3)), memory_(planned_bytes()) {
    if constexpr (to_classes) {
      for (Index r = 0; r != rows(); ++r) {
        bool const ignored = options.ignore_every > 0 && (r + 1) % options.ignore_every == 0;
        classes_.push_back(ignored ? ignored_target : static_cast<std::int32_t>((5 * r + 2) % L::outputs));
      }
    }
  }

  [[nodiscard]] testing::GradientErrors run() {
    std::vector<double> dx(input_.size(), std::numeric_limits<double>::quiet_NaN());
    double const sum = differentiate(Matrix<double>(dx.data(), rows(), L::inputs));
    auto const scaled = [this] { return scale * value(); };
    testing::GradientErrors errors;
    errors.value = detail::worse(0, detail::distance(sum, value()));
    errors.input = detail::derivative_error(input_, dx, options_.step, scaled);
    errors.parameters = detail::derivative_error(parameters_.values(), parameters_.added(1), options_.step, scaled);
    return errors;
  }

private:
  [[nodiscard]] Index rows() const { return options_.shape.rows(); }
  [[nodiscard]] Matrix<double const> input() const { return {input_.data(), rows(), L::inputs}; }
  [[nodiscard]] auto targets() const {
    if constexpr (to_classes) {
      return Tokens{classes_.data(), rows()};
    } else {
      return Matrix<double const>(targets_.data(), rows(), L::inputs);
    }
  }

  template <typename Stream>
  void value(Stream& stream, Arena& arena, double* sum) {
    Pass<Stream, double, double> pass{stream, arena, options_.shape};
    L::value(pass, parameters_.weights(), input(), targets(), sum);
  }
  template <typename Stream>
  void differentiate(Stream& stream, Arena& arena, Matrix<double> dx, double* sum) {
    Pass<Stream, double, double> pass{stream, arena, options_.shape};
    L::value_and_gradient(pass, parameters_.weights(), parameters_.gradients(), input(), targets(), scale, dx, sum);
  }

  [[nodiscard]] Index planned_bytes() {
    PlanningStream stream;
    Arena arena;
    value(stream, arena, nullptr);
    differentiate(stream, arena, Matrix<double>(nullptr, rows(), L::inputs), nullptr);
    return arena.high_water();
  }
  // Both start from some sum, not 0: a loss adds to it.
  [[nodiscard]] double value() {
    Arena arena(memory_.data(), memory_.size());
    double sum = 1;
    value(stream_, arena, &sum);
    return sum - 1;
  }
  [[nodiscard]] double differentiate(Matrix<double> dx) {
    Arena arena(memory_.data(), memory_.size());
    double sum = 1;
    differentiate(stream_, arena, dx, &sum);
    return sum - 1;
  }

  testing::GradientCheckOptions options_;
  ProbeParameters<L> parameters_;
  std::vector<double> input_;
  std::vector<double> targets_;
  std::vector<std::int32_t> classes_;
  device::Cpu::Memory memory_;
  device::Cpu::Stream stream_;
};

} // namespace cleave::detail
