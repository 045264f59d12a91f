#pragma once

#include <array>

#include <cleave/layers/layer.hpp>

namespace cleave {

/// Each row normalised to mean 0 and variance 1, then scaled and shifted: (rows, Width) -> (rows, Width).
/// torch.nn.LayerNorm (Ba et al., 2016).
template <int Width, double Epsilon = 1e-5>
struct LayerNorm {
  static_assert(Width > 0, "cleave::LayerNorm<Width>: the width is not positive. Give the features of a row.");

  static constexpr int inputs = Width;
  static constexpr int outputs = Width;
  static constexpr std::array parameters{Parameter{"weight", {Width}, init::ones()},
                                         Parameter{"bias", {Width}, init::zeros()}};

  template <typename T>
  struct Saved {
    Matrix<T const> input;         // (rows, Width)
    Vector<accumulator_t<T>> mean; // (rows)
    Vector<accumulator_t<T>> rstd; // (rows), 1 / standard deviation
  };

  template <typename P>
  static constexpr void forward(P& pass, WeightsOf<P> weights, InputOf<P> x, OutputOf<P> y, Saved<ScalarOf<P>>& saved) {
    using A = typename P::Statistic;
    saved = {x, pass.arena.template vector<A>(pass.rows()), pass.arena.template vector<A>(pass.rows())};
    pass.run(op::LayerNorm{Epsilon}, y, saved.mean, saved.rstd, x, weights.vector(gain, Width),
             weights.vector(bias, Width));
  }

  template <typename P>
  static constexpr void backward(P& pass, WeightsOf<P> weights, GradientsOf<P> gradients,
                                 Saved<ScalarOf<P>> const& saved, InputOf<P> dy, OutputOf<P> dx) {
    using A = typename P::Statistic;
    pass.run(op::LayerNormGradient{}, dx, gradients.vector(gain, Width), gradients.vector(bias, Width), dy, saved.input,
             Vector<A const>(saved.mean), Vector<A const>(saved.rstd), weights.vector(gain, Width));
  }

private:
  enum Slot { gain, bias };
};

static_assert(layer<LayerNorm<4>>);

} // namespace cleave
