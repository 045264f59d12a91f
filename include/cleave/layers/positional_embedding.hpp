#pragma once

#include <array>

#include <cleave/layers/layer.hpp>

namespace cleave {

/// Adds a learned row for each position of a sequence: (rows, Width) -> (rows, Width). Sequences may be shorter than
/// Context.
template <int Context, int Width, double Deviation = 1.0>
struct PositionalEmbedding {
  static_assert(Context > 0 && Width > 0,
                "cleave::PositionalEmbedding<Context, Width>: a size is not positive. Give both.");

  static constexpr int inputs = Width;
  static constexpr int outputs = Width;
  static constexpr int longest_sequence = Context;
  static constexpr std::array parameters{Parameter{"weight", {Context, Width}, init::normal(Deviation)}};

  template <typename T>
  struct Saved {};

  template <typename P>
  static constexpr void forward(P& pass, WeightsOf<P> weights, InputOf<P> x, OutputOf<P> y, Saved<ScalarOf<P>>&) {
    pass.run(op::AddPositions{pass.shape.sequence}, y, x, weights.matrix(0, Context, Width));
  }

  template <typename P>
  static constexpr void backward(P& pass, WeightsOf<P>, GradientsOf<P> gradients, Saved<ScalarOf<P>> const&,
                                 InputOf<P> dy, OutputOf<P> dx) {
    pass.run(op::AddPositionsGradient{pass.shape.sequence}, gradients.matrix(0, Context, Width), dy);
    if (dx.wanted()) {
      pass.run(op::Copy{}, dx, dy);
    }
  }
};

static_assert(layer<PositionalEmbedding<4, 2>>);

} // namespace cleave
