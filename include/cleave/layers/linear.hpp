#pragma once

#include <array>

#include <cleave/layers/layer.hpp>

namespace cleave {

/// How a Linear stores and starts its weight.
enum class WeightLayout {
  out_in, ///< (Out, In), as torch.nn.Linear
  in_out, ///< (In, Out), as GPT-2's Conv1D
};

struct LinearOptions {
  bool bias = true;
  WeightLayout layout = WeightLayout::out_in;
  double deviation = 0; ///< of normal first weights, with a zero bias; 0: torch.nn.Linear's uniform default
};

/// y = x W^T + b over each row: (rows, In) -> (rows, Out). torch.nn.Linear.
template <int In, int Out, LinearOptions Options = LinearOptions{}>
struct Linear {
  static_assert(In > 0 && Out > 0, "cleave::Linear<In, Out>: a width is not positive. Give both.");

  static constexpr int inputs = In;
  static constexpr int outputs = Out;

private:
  enum Slot { weight, bias };
  static constexpr bool stored_in_out = Options.layout == WeightLayout::in_out;
  static constexpr Extents weight_shape = stored_in_out ? Extents{In, Out} : Extents{Out, In};
  static constexpr Initialiser first_weight = Options.deviation > 0 ? init::normal(Options.deviation)
                                                                    : init::fan_in(In > 0 ? In : 1);
  static constexpr Initialiser first_bias = Options.deviation > 0 ? init::zeros() : init::fan_in(In > 0 ? In : 1);

  static constexpr auto declare() {
    if constexpr (Options.bias) {
      return std::array{Parameter{"weight", weight_shape, first_weight}, Parameter{"bias", {Out}, first_bias}};
    } else {
      return std::array{Parameter{"weight", weight_shape, first_weight}};
    }
  }

public:
  static constexpr auto parameters = declare();

  template <typename T>
  struct Saved {
    Matrix<T const> input; // (rows, In)
  };

  template <typename P>
  static constexpr void forward(P& pass, WeightsOf<P> weights, InputOf<P> x, OutputOf<P> y, Saved<ScalarOf<P>>& saved) {
    saved.input = x;
    Vector<ScalarOf<P> const> const offset = Options.bias ? weights.vector(bias, Out) : Vector<ScalarOf<P> const>{};
    pass.run(op::MatMul{.transpose_b = !stored_in_out}, y, x, weight_of(weights), offset);
  }

  template <typename P>
  static constexpr void backward(P& pass, WeightsOf<P> weights, GradientsOf<P> gradients,
                                 Saved<ScalarOf<P>> const& saved, InputOf<P> dy, OutputOf<P> dx) {
    Vector<ScalarOf<P> const> const none{};
    op::MatMul const add{.transpose_a = true, .accumulate = true};
    if constexpr (stored_in_out) {
      pass.run(add, weight_of(gradients), saved.input, dy, none); // dW = x^T dy
    } else {
      pass.run(add, weight_of(gradients), dy, saved.input, none); // dW = dy^T x
    }
    if constexpr (Options.bias) {
      pass.run(op::ColumnSums{}, gradients.vector(bias, Out), dy);
    }
    if (dx.wanted()) {
      pass.run(op::MatMul{.transpose_b = stored_in_out}, dx, dy, weight_of(weights), none);
    }
  }

private:
  template <typename T>
  static constexpr Matrix<T> weight_of(Slots<T> slots) {
    return slots.matrix(weight, weight_shape.rows, weight_shape.columns);
  }
};

static_assert(layer<Linear<4, 2>>);

} // namespace cleave
