#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include <cleave/layers/layer.hpp>

namespace cleave {

/// -log softmax(x)[target] over rows of Classes logits, each row of weight 1 unless its target is `ignored_target`.
/// torch.nn.CrossEntropyLoss.
template <int Classes>
struct CrossEntropy {
  static_assert(Classes > 1,
                "cleave::CrossEntropy<Classes>: there is nothing to tell apart. Give at least two classes.");

  using Target = std::int32_t;
  static constexpr int inputs = Classes;
  static constexpr int outputs = Classes;
  static constexpr std::array<Parameter, 0> parameters{};

  template <typename P>
  static constexpr void value(P& pass, WeightsOf<P>, InputOf<P> x, Tokens targets, double* sum) {
    Index const mark = pass.arena.mark();
    OutputOf<P> const scratch = pass.activation(Classes);
    pass.run(op::Copy{}, scratch, x);
    pass.run(op::CrossEntropy{}, sum, scratch, targets);
    pass.arena.release(mark);
  }

  template <typename P>
  static constexpr void value_and_gradient(P& pass, WeightsOf<P>, GradientsOf<P>, InputOf<P> x, Tokens targets,
                                           double scale, OutputOf<P> dx, double* sum) {
    pass.run(op::Copy{}, dx, x);
    pass.run(op::CrossEntropy{.gradient = true, .scale = scale}, sum, dx, targets);
  }

  template <typename P>
  static constexpr void logits(P& pass, WeightsOf<P>, InputOf<P> x, OutputOf<P> y) {
    pass.run(op::Copy{}, y, x);
  }
};

/// The output projection and its cross-entropy in one: logits = x W^T, W of shape (Vocabulary, Width), as in GPT-2's
/// lm_head. Works through the rows in chunks of ChunkRows, and takes the gradient of a chunk while its logits are
/// there: rows x Vocabulary never exists at once, and no logit is computed twice.
template <int Width, int Vocabulary, double Deviation = 0.02, int ChunkRows = 128>
struct OutputCrossEntropy {
  static_assert(Width > 0 && Vocabulary > 1 && ChunkRows > 0,
                "cleave::OutputCrossEntropy<Width, Vocabulary>: a size is not positive. Give both.");

  using Target = std::int32_t;
  static constexpr int inputs = Width;
  static constexpr int outputs = Vocabulary;
  static constexpr std::array parameters{Parameter{"weight", {Vocabulary, Width}, init::normal(Deviation)}};

  template <typename P>
  static constexpr void value(P& pass, WeightsOf<P> weights, InputOf<P> x, Tokens targets, double* sum) {
    for_each_chunk(pass, x, [&](Index first, OutputOf<P> chunk) {
      logits(pass, weights, x.row_slice(first, chunk.rows), chunk);
      pass.run(op::CrossEntropy{}, sum, chunk, targets.slice(first, chunk.rows));
    });
  }

  template <typename P>
  static constexpr void value_and_gradient(P& pass, WeightsOf<P> weights, GradientsOf<P> gradients, InputOf<P> x,
                                           Tokens targets, double scale, OutputOf<P> dx, double* sum) {
    Vector<ScalarOf<P> const> const none{};
    for_each_chunk(pass, x, [&](Index first, OutputOf<P> chunk) {
      InputOf<P> const rows = x.row_slice(first, chunk.rows);
      logits(pass, weights, rows, chunk);
      pass.run(op::CrossEntropy{.gradient = true, .scale = scale}, sum, chunk, targets.slice(first, chunk.rows));
      pass.run(op::MatMul{.transpose_a = true, .accumulate = true}, matrix(gradients), InputOf<P>(chunk), rows, none);
      pass.run(op::MatMul{}, dx.row_slice(first, chunk.rows), InputOf<P>(chunk), matrix(weights), none);
    });
  }

  template <typename P>
  static constexpr void logits(P& pass, WeightsOf<P> weights, InputOf<P> x, OutputOf<P> y) {
    pass.run(op::MatMul{.transpose_b = true}, y, x, matrix(weights), Vector<ScalarOf<P> const>{});
  }

private:
  template <typename T>
  static constexpr Matrix<T> matrix(Slots<T> slots) {
    return slots.matrix(0, Vocabulary, Width);
  }

  template <typename P, typename F>
  static constexpr void for_each_chunk(P& pass, InputOf<P> x, F f) {
    Index const mark = pass.arena.mark();
    OutputOf<P> const buffer = pass.arena.template matrix<ScalarOf<P>>(std::min<Index>(ChunkRows, x.rows), Vocabulary);
    for (Index first = 0; first < x.rows; first += ChunkRows) {
      f(first, buffer.row_slice(0, std::min<Index>(ChunkRows, x.rows - first)));
    }
    pass.arena.release(mark);
  }
};

static_assert(loss_layer<CrossEntropy<2>> && loss_layer<OutputCrossEntropy<4, 3>>);

} // namespace cleave
