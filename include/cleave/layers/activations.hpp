#pragma once

#include <array>

#include <cleave/layers/layer.hpp>

namespace cleave {

/// y = f(x) for each element: (rows, n) -> (rows, n).
template <op::Elementwise F>
struct ElementwiseLayer {
  static constexpr int inputs = any_width;
  static constexpr int outputs = any_width;
  static constexpr std::array<Parameter, 0> parameters{};

  template <typename T>
  struct Saved {
    Matrix<T const> input;
  };

  template <typename P>
  static constexpr void forward(P& pass, WeightsOf<P>, InputOf<P> x, OutputOf<P> y, Saved<ScalarOf<P>>& saved) {
    saved.input = x;
    pass.run(op::Activation<F>{}, y, x);
  }

  template <typename P>
  static constexpr void backward(P& pass, WeightsOf<P>, GradientsOf<P>, Saved<ScalarOf<P>> const& saved, InputOf<P> dy,
                                 OutputOf<P> dx) {
    if (dx.wanted()) {
      pass.run(op::ActivationGradient<F>{}, dx, dy, saved.input);
    }
  }
};

/// x * Phi(x), in the tanh approximation (Hendrycks and Gimpel, 2016; torch.nn.GELU(approximate="tanh")).
using Gelu = ElementwiseLayer<op::Elementwise::gelu_tanh>;
/// x * Phi(x), with the error function (torch.nn.GELU()).
using GeluExact = ElementwiseLayer<op::Elementwise::gelu_exact>;
/// max(x, 0); its derivative at 0 is 0.
using Relu = ElementwiseLayer<op::Elementwise::relu>;
/// x * sigmoid(x), also called swish.
using Silu = ElementwiseLayer<op::Elementwise::silu>;
/// The hyperbolic tangent.
using Tanh = ElementwiseLayer<op::Elementwise::tanh>;
/// 1 / (1 + exp(-x)).
using Sigmoid = ElementwiseLayer<op::Elementwise::sigmoid>;

static_assert(layer<Gelu>);

} // namespace cleave
