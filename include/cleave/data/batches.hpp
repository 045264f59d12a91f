#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <cleave/core/error.hpp>
#include <cleave/core/tensor.hpp>
#include <cleave/data/token_view.hpp>
#include <cleave/data/windows.hpp>

namespace cleave::data {

/// A micro-batch of a rank, for next-token prediction. Views of sequences x context tokens.
struct Batch {
  Tokens tokens;
  Vector<std::int32_t const> targets; ///< the token after each; `ignored_target` where there is none
  Index first_sequence = 0;           ///< place of the first sequence in the step's global batch
};

/// How a step's sequences are dealt out: rank r takes the r-th of `ranks` equal parts of the global batch, and its
/// micro-batch m the m-th of `micro_batches` equal parts of that.
struct BatchShape {
  Index context = 0;      ///< tokens of a sequence
  Index global_batch = 0; ///< sequences of a step, over all ranks and micro-batches
  int ranks = 1;
  int rank = 0;
  Index micro_batches = 1;

  [[nodiscard]] constexpr Index per_rank() const { return global_batch / ranks; }
  [[nodiscard]] constexpr Index per_micro_batch() const { return per_rank() / micro_batches; }

  /// Throws InvalidArgument when the parts cannot be equal.
  void check() const {
    if (context < 1 || global_batch < 1 || micro_batches < 1 || ranks < 1 || rank < 0 || rank >= ranks) {
      throw InvalidArgument(
          "expected a context, a batch, micro-batches and ranks of 1 or more and a rank below their number, "
          "found context {}, batch {}, {} micro-batches, rank {} of {}; correct the batch's shape",
          context, global_batch, micro_batches, rank, ranks);
    }
    if (global_batch < ranks) {
      throw InvalidArgument(
          "expected at least one sequence for each of {} ranks, found a batch of {} sequences; use fewer "
          "ranks or a larger batch",
          ranks, global_batch);
    }
    if (global_batch % (ranks * micro_batches) != 0) {
      throw InvalidArgument("expected a batch that divides by {} ranks x {} micro-batches, found {} sequences; use a "
                            "multiple of {}",
                            ranks, micro_batches, global_batch, ranks * micro_batches);
    }
  }
};

/// Sequences of `context` tokens with their next-token targets, in buffers that are allocated once.
class WindowBuffers {
public:
  WindowBuffers(TokenView source, Index context, Index sequences)
      : source_(source), context_(context), tokens_(static_cast<std::size_t>(context * sequences)),
        targets_(tokens_.size()) {
    if (source.size() < context + 1) {
      throw InvalidArgument(
          "expected a text of at least {} tokens (a context of {} and one more) in {}, found {}; use a "
          "longer text or a shorter context",
          context + 1, context, source.name(), source.size());
    }
  }

  /// Sequence `place` becomes the window that starts at token `start`; `no_window` ignores it.
  void fill(Index place, Index start) {
    std::span const tokens = row(tokens_, place);
    std::span const targets = row(targets_, place);
    if (start == no_window) {
      std::fill(tokens.begin(), tokens.end(), 0);
      std::fill(targets.begin(), targets.end(), ignored_target);
    } else {
      source_.copy(start, tokens);
      source_.copy(start + 1, targets);
    }
  }

  /// The sequences first .. first + starts.size(), filled from explicit start positions.
  Batch fill(Index first, std::span<Index const> starts) {
    for (std::size_t i = 0; i != starts.size(); ++i) {
      fill(first + static_cast<Index>(i), starts[i]);
    }
    return view(first, static_cast<Index>(starts.size()));
  }

  [[nodiscard]] Batch view(Index first, Index sequences) const {
    Index const start = first * context_;
    Index const count = sequences * context_;
    return {{tokens_.data() + start, count}, {targets_.data() + start, count}, first};
  }

private:
  [[nodiscard]] std::span<std::int32_t> row(std::vector<std::int32_t>& all, Index place) const {
    return std::span(all).subspan(static_cast<std::size_t>(place * context_), static_cast<std::size_t>(context_));
  }

  TokenView source_;
  Index context_;
  std::vector<std::int32_t> tokens_;
  std::vector<std::int32_t> targets_;
};

/// A rank's batches of a text, in an order of data/windows.hpp. What a step holds is the same for any number of ranks
/// and micro-batches.
///
///   RandomBatches train(text, {.context = 64, .global_batch = 12, .ranks = 2, .rank = rank}, {.seed = 1});
///   Batch const batch = train.read(step);
template <window_order Order>
class Batches {
public:
  /// Throws InvalidArgument when the batch does not divide or the text is shorter than a context and one more token.
  Batches(TokenView text, BatchShape shape, Order order = {})
      : shape_(checked(shape)), plan_{text.size(), shape.context, shape.global_batch}, order_(order),
        buffers_(text, shape.context, shape.per_rank()) {}

  /// The steps that the text has in this order; -1: without end.
  [[nodiscard]] Index steps() const { return order_.steps(plan_); }
  [[nodiscard]] BatchShape const& shape() const { return shape_; }

  /// This rank's part of a step. The views are valid until the same micro-batch is read again. Throws InvalidArgument
  /// beyond the last step.
  Batch read(Index step, Index micro_batch = 0) {
    require_step(step, micro_batch);
    Index const count = shape_.per_micro_batch();
    Index const first_place = micro_batch * count;
    Index const first_sequence = shape_.rank * shape_.per_rank() + first_place;
    for (Index i = 0; i != count; ++i) {
      buffers_.fill(first_place + i, order_.start(plan_, step, first_sequence + i));
    }
    Batch batch = buffers_.view(first_place, count);
    batch.first_sequence = first_sequence;
    return batch;
  }

private:
  static BatchShape checked(BatchShape const& shape) {
    shape.check();
    return shape;
  }

  void require_step(Index step, Index micro_batch) const {
    if (step < 0) {
      throw InvalidArgument("expected a step of 0 or more, found step {}; count them from 0", step);
    }
    if (steps() >= 0 && step >= steps()) {
      throw InvalidArgument(
          "expected a step below {}, which is what {} tokens hold in steps of {} x {}, found step {}; "
          "take fewer steps or a longer text",
          steps(), plan_.tokens, plan_.global_batch, plan_.context, step);
    }
    if (micro_batch < 0 || micro_batch >= shape_.micro_batches) {
      throw InvalidArgument("expected a micro-batch below {}, found {}; count them from 0", shape_.micro_batches,
                            micro_batch);
    }
  }

  BatchShape shape_;
  WindowPlan plan_;
  Order order_;
  WindowBuffers buffers_;
};

using RandomBatches = Batches<RandomWindows>;
using SequentialBatches = Batches<SequentialWindows>;
using ValidationBatches = Batches<EveryWindow>;

} // namespace cleave::data
