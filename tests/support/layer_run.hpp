#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <cleave/device/cpu.hpp>
#include <cleave/layers/layer.hpp>

namespace cleave::testing {

/// One layer with its numbers in double; run in any type, with the numbers rounded to it first.
template <typename L>
struct LayerRun {
  Shape shape;
  int columns = L::inputs == any_width ? 6 : L::inputs;
  bool training = true;
  double dropout = 0;
  std::uint64_t key = 1;
  Index first_row = 0;
  std::vector<double> weights{};
  std::vector<double> input{}; ///< features, or token ids
  std::vector<double> dy{};

  static constexpr bool from_tokens = vocabulary<L> > 0;

  [[nodiscard]] Index outputs() const { return L::outputs == any_width ? columns : L::outputs; }
  [[nodiscard]] static std::vector<Index> offsets() {
    std::vector<Index> starts{0};
    cleave::for_each_parameter<L>(Name{},
                                  [&](Parameter const& p) { starts.push_back(starts.back() + p.shape.size()); });
    return starts;
  }
};

/// A run with random numbers of a size that training would have.
template <typename L>
[[nodiscard]] LayerRun<L> random_run(Shape shape, unsigned seed = 1) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal(0, 1);
  LayerRun<L> run{shape};
  auto const fill = [&](std::vector<double>& values, Index size) {
    for (Index i = 0; i != size; ++i) {
      values.push_back(normal(engine));
    }
  };
  fill(run.weights, LayerRun<L>::offsets().back());
  fill(run.dy, shape.rows() * run.outputs());
  for (Index r = 0; LayerRun<L>::from_tokens && r != shape.rows(); ++r) {
    run.input.push_back(static_cast<double>(engine() % static_cast<unsigned>(std::max(1, vocabulary<L>))));
  }
  fill(run.input, LayerRun<L>::from_tokens ? 0 : shape.rows() * run.columns);
  return run;
}

struct LayerResult {
  std::vector<double> y, dx, gradients;
  Index forward_bytes = 0; ///< of the arena, after forward
  Index high_water = 0;    ///< the most that was in use
  std::uint64_t draws = 0; ///< random masks drawn

  friend bool operator==(LayerResult const& a, LayerResult const& b) {
    return a.y == b.y && a.dx == b.dx && a.gradients == b.gradients && a.draws == b.draws;
  }
};

/// Forward and backward in T, over memory that is NaN until written.
template <typename T, typename L>
[[nodiscard]] LayerResult run_layer(LayerRun<L> const& run) {
  using G = accumulator_t<T>;
  std::vector<T> const weights(run.weights.begin(), run.weights.end());
  std::vector<T> const features(run.input.begin(), run.input.end());
  std::vector<std::int32_t> const ids(run.input.begin(), run.input.end());
  std::vector<T> const dy(run.dy.begin(), run.dy.end());
  auto const offsets = LayerRun<L>::offsets();
  auto const rows = run.shape.rows();
  T const nan = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
  std::vector<T> y(static_cast<std::size_t>(rows * run.outputs()), nan);
  std::vector<T> dx(LayerRun<L>::from_tokens ? 0 : features.size(), nan);
  std::vector<G> gradients(weights.size(), 0);

  device::Cpu::Memory memory(Index{1} << 22);
  device::Cpu::Stream stream;
  stream.run(op::Fill{std::numeric_limits<double>::quiet_NaN()},
             Vector<float>{reinterpret_cast<float*>(memory.data()), memory.size() / Index{sizeof(float)}});
  Arena arena(memory.data(), memory.size());
  Pass<device::Cpu::Stream, T, G> pass{stream, arena, run.shape, run.training, run.dropout, run.key, run.first_row};
  typename L::template Saved<T> saved{};
  Slots<T const> const w(weights.data(), offsets.data());
  Matrix<T> const out(y.data(), rows, run.outputs());
  Matrix<T> dx_view;
  if constexpr (LayerRun<L>::from_tokens) {
    L::forward(pass, w, Tokens{ids.data(), rows}, out, saved);
  } else {
    L::forward(pass, w, Matrix<T const>(features.data(), rows, run.columns), out, saved);
    dx_view = Matrix<T>(dx.data(), rows, run.columns);
  }
  LayerResult result;
  result.y.assign(y.begin(), y.end());
  result.forward_bytes = arena.mark();
  L::backward(pass, w, Slots<G>(gradients.data(), offsets.data()), saved,
              Matrix<T const>(dy.data(), rows, run.outputs()), dx_view);
  result.dx.assign(dx.begin(), dx.end());
  result.gradients.assign(gradients.begin(), gradients.end());
  result.high_water = arena.high_water();
  result.draws = pass.draws;
  return result;
}

/// What the same walk cuts from an arena without memory.
template <typename T, typename L>
[[nodiscard]] constexpr Index planned_bytes(Shape shape) {
  Arena arena;
  PlanningStream stream;
  Pass<PlanningStream, T, accumulator_t<T>> pass{stream, arena, shape};
  typename L::template Saved<T> saved{};
  Index const columns = L::inputs == any_width ? 6 : L::inputs;
  Matrix<T> const y(nullptr, shape.rows(), L::outputs == any_width ? columns : L::outputs);
  if constexpr (LayerRun<L>::from_tokens) {
    L::forward(pass, {}, Tokens{nullptr, shape.rows()}, y, saved);
    L::backward(pass, {}, {}, saved, y, {});
  } else {
    L::forward(pass, {}, Matrix<T const>(nullptr, shape.rows(), columns), y, saved);
    L::backward(pass, {}, {}, saved, y, Matrix<T>(nullptr, shape.rows(), columns));
  }
  return arena.high_water();
}

/// The largest distance, relative to the largest of the expected numbers (at least 1).
[[nodiscard]] inline double distance(std::vector<double> const& found, std::vector<double> const& expected) {
  double size = 1;
  double worst = found.size() == expected.size() ? 0 : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i != std::min(found.size(), expected.size()); ++i) {
    double const error = std::abs(found[i] - expected[i]);
    size = std::max(size, std::abs(expected[i]));
    worst = error >= 0 ? std::max(worst, error) : std::numeric_limits<double>::infinity(); // NaN counts as infinite
  }
  return worst / size;
}

/// The larger error of a gradient check.
template <typename Errors>
[[nodiscard]] double worst(Errors const& errors) {
  return std::max({errors.input, errors.parameters, errors.value});
}

/// How far float and bfloat16 are from double, on the numbers rounded to bfloat16.
struct TypeErrors {
  double single = 0;
  double half = 0;
};
template <typename L>
[[nodiscard]] TypeErrors compare_types(LayerRun<L> run) {
  for (auto* values : {&run.weights, &run.dy, &run.input}) {
    for (double& value : *values) {
      value = static_cast<double>(bfloat16(static_cast<float>(value)));
    }
  }
  auto const wanted = run_layer<double>(run);
  auto const error = [&](LayerResult const& found) {
    return std::max(
        {distance(found.y, wanted.y), distance(found.dx, wanted.dx), distance(found.gradients, wanted.gradients)});
  };
  return {error(run_layer<float>(run)), error(run_layer<bfloat16>(run))};
}

} // namespace cleave::testing
