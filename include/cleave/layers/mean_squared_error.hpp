#pragma once

#include <array>

#include <cleave/layers/layer.hpp>

namespace cleave {

/// A row of numbers, as target or input of a model.
struct Features {};

/// (y - target)^2 over rows of Width numbers, each element of weight 1. torch.nn.MSELoss.
template <int Width>
struct MeanSquaredError {
  static_assert(Width > 0, "cleave::MeanSquaredError<Width>: the width is not positive. Give the numbers of a row.");

  using Target = Features;
  static constexpr int inputs = Width;
  static constexpr std::array<Parameter, 0> parameters{};

  template <typename P>
  static constexpr void value(P& pass, WeightsOf<P>, InputOf<P> x, InputOf<P> targets, double* sum) {
    pass.run(op::SquaredError{}, sum, OutputOf<P>{}, x, targets);
  }

  template <typename P>
  static constexpr void value_and_gradient(P& pass, WeightsOf<P>, GradientsOf<P>, InputOf<P> x, InputOf<P> targets,
                                           double scale, OutputOf<P> dx, double* sum) {
    pass.run(op::SquaredError{scale}, sum, dx, x, targets);
  }
};

static_assert(loss_layer<MeanSquaredError<2>>);

} // namespace cleave
