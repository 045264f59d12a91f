#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include <cleave/device/cpu.hpp>
#include <cleave/layers/layer.hpp>

#include "layer_run.hpp"

namespace cleave::testing {

/// One loss with its numbers in double; targets are class numbers or features.
template <typename L>
struct LossRun {
  Index rows = 1;
  double scale = 1;
  std::vector<double> weights{};
  std::vector<double> input{};
  std::vector<double> targets{};
};

struct LossResult {
  double value = 0;         ///< of value()
  double trained_value = 0; ///< of value_and_gradient()
  std::vector<double> dx, gradients;
  Index high_water = 0;
};

template <typename T, typename L>
[[nodiscard]] auto targets_as(std::vector<double> const& targets) {
  return std::vector<std::conditional_t<std::is_same_v<typename L::Target, std::int32_t>, std::int32_t, T>>(
      targets.begin(), targets.end());
}

template <typename T, typename L>
[[nodiscard]] LossResult run_loss(LossRun<L> const& run) {
  using G = accumulator_t<T>;
  std::vector<T> const weights(run.weights.begin(), run.weights.end());
  std::vector<T> const input(run.input.begin(), run.input.end());
  auto const targets = targets_as<T, L>(run.targets);
  auto const offsets = LayerRun<L>::offsets();
  std::vector<T> dx(input.size(), static_cast<T>(std::numeric_limits<float>::quiet_NaN()));
  std::vector<G> gradients(weights.size(), 0);
  device::Cpu::Memory memory(Index{1} << 20);
  device::Cpu::Stream stream;
  Arena arena(memory.data(), memory.size());
  Pass<device::Cpu::Stream, T, G> pass{stream, arena, {1, run.rows}};
  Slots<T const> const w(weights.data(), offsets.data());
  Matrix<T const> const x(input.data(), run.rows, L::inputs);
  auto const views = [&] {
    if constexpr (std::is_same_v<typename L::Target, std::int32_t>) {
      return Tokens{targets.data(), run.rows};
    } else {
      return Matrix<T const>(targets.data(), run.rows, L::inputs);
    }
  }();
  LossResult result;
  L::value(pass, w, x, views, &result.value);
  L::value_and_gradient(pass, w, Slots<G>(gradients.data(), offsets.data()), x, views, run.scale,
                        Matrix<T>(dx.data(), run.rows, L::inputs), &result.trained_value);
  result.dx.assign(dx.begin(), dx.end());
  result.gradients.assign(gradients.begin(), gradients.end());
  result.high_water = arena.high_water();
  return result;
}

} // namespace cleave::testing
