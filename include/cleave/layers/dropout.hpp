#pragma once

#include <array>

#include <cleave/layers/layer.hpp>

namespace cleave {

/// In training, zeroes each element with the probability given to the model and divides the others by what is left:
/// (rows, n) -> (rows, n). torch.nn.Dropout.
///
/// The mask is a function of (seed, step, which Dropout, element of the global batch): the same in recomputation and
/// for any number of ranks.
struct Dropout {
  static constexpr int inputs = any_width;
  static constexpr int outputs = any_width;
  static constexpr std::array<Parameter, 0> parameters{};

  template <typename T>
  struct Saved {
    op::Dropout mask;
  };

  template <typename P>
  static constexpr void forward(P& pass, WeightsOf<P>, InputOf<P> x, OutputOf<P> y, Saved<ScalarOf<P>>& saved) {
    saved.mask = {pass.draw_key(), pass.training ? pass.dropout : 0, pass.first_row};
    apply<P>(pass, saved.mask, x, y);
  }

  template <typename P>
  static constexpr void backward(P& pass, WeightsOf<P>, GradientsOf<P>, Saved<ScalarOf<P>> const& saved, InputOf<P> dy,
                                 OutputOf<P> dx) {
    if (dx.wanted()) {
      apply<P>(pass, saved.mask, dy, dx);
    }
  }

private:
  template <typename P>
  static constexpr void apply(P& pass, op::Dropout mask, InputOf<P> from, OutputOf<P> to) {
    if (mask.probability > 0) {
      pass.run(mask, to, from);
    } else {
      pass.run(op::Copy{}, to, from);
    }
  }
};

static_assert(layer<Dropout>);

} // namespace cleave
