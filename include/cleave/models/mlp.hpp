#pragma once

#include <cleave/layers/activations.hpp>
#include <cleave/layers/layer_list.hpp>
#include <cleave/layers/linear.hpp>
#include <cleave/layers/mean_squared_error.hpp>
#include <cleave/layers/named.hpp>
#include <cleave/layers/repeat.hpp>
#include <cleave/layers/sequential.hpp>

/// A multi-layer perceptron: input.weight, hidden.0.weight, ..., output.weight, each Linear as torch.nn.Linear.
namespace cleave::models::mlp {

struct Config {
  int inputs = 1;
  int width = 64;
  int outputs = 1;
  int hidden = 1; ///< layers of (width, width) between the first and the last
};

/// Rows of features to a loss; the hidden layers are units of their own.
template <Config C, typename Activation = Gelu, typename Loss = MeanSquaredError<C.outputs>>
struct Mlp {
  using Layers =
      LayerList<Named<"input", Linear<C.inputs, C.width>>,
                Named<"hidden", Repeat<C.hidden, Sequential<Activation, Named<"", Linear<C.width, C.width>>>>>,
                Activation, Named<"output", Linear<C.width, C.outputs>>, Loss>;
};

} // namespace cleave::models::mlp
