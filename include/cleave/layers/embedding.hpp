#pragma once

#include <array>

#include <cleave/layers/layer.hpp>

namespace cleave {

/// Row r of y is row token[r] of the table: tokens -> (rows, Width). torch.nn.Embedding.
template <int Vocabulary, int Width, double Deviation = 1.0>
struct Embedding {
  static_assert(Vocabulary > 0 && Width > 0,
                "cleave::Embedding<Vocabulary, Width>: a size is not positive. Give both.");

  static constexpr int inputs = any_width;
  static constexpr int outputs = Width;
  static constexpr int vocabulary = Vocabulary;
  static constexpr std::array parameters{Parameter{"weight", {Vocabulary, Width}, init::normal(Deviation)}};

  template <typename T>
  struct Saved {
    Tokens tokens;
  };

  template <typename P>
  static constexpr void forward(P& pass, WeightsOf<P> weights, Tokens tokens, OutputOf<P> y,
                                Saved<ScalarOf<P>>& saved) {
    saved.tokens = tokens;
    pass.run(op::Embedding{}, y, weights.matrix(0, Vocabulary, Width), tokens);
  }

  template <typename P>
  static constexpr void backward(P& pass, WeightsOf<P>, GradientsOf<P> gradients, Saved<ScalarOf<P>> const& saved,
                                 InputOf<P> dy, OutputOf<P>) {
    pass.run(op::EmbeddingGradient{}, gradients.matrix(0, Vocabulary, Width), dy, saved.tokens);
  }
};

static_assert(layer<Embedding<4, 2>>);

} // namespace cleave
