#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <type_traits>

#include <cleave/core/error.hpp>
#include <cleave/detail/cpu/block.hpp>
#include <cleave/detail/cpu/functions.hpp>
#include <cleave/detail/cpu/matmul.hpp>
#include <cleave/detail/cpu/parallel.hpp>
#include <cleave/detail/cpu/product.hpp>
#include <cleave/detail/cpu/workspace.hpp>
#include <cleave/device/operations.hpp>

namespace cleave::detail::cpu {

/// One head of one sequence: which rows and columns of the operands are its own, and how it is cut into blocks.
template <typename A>
struct Head {
  Index sequence;
  Index width;
  Index first_row;
  Index head;
  Index block; ///< queries, or keys, that are worked on at a time
  A scale;     ///< of the scores

  [[nodiscard]] Index size_at(Index first) const { return std::min(block, sequence - first); }

  /// The block that starts at `first` of an operand with a column for each column of each head.
  template <typename T>
  [[nodiscard]] Matrix<T> rows(Matrix<T> x, Index first, Index skipped_columns = 0) const {
    return x.row_slice(first_row + first, size_at(first)).column_slice(skipped_columns + head * width, width);
  }
  template <typename T>
  [[nodiscard]] Matrix<T> queries(Matrix<T> qkv, Index first) const {
    return rows(qkv, first);
  }
  template <typename T>
  [[nodiscard]] Matrix<T> keys(Matrix<T> qkv, Index first) const {
    return rows(qkv, first, qkv.columns / 3);
  }
  template <typename T>
  [[nodiscard]] Matrix<T> values(Matrix<T> qkv, Index first) const {
    return rows(qkv, first, qkv.columns / 3 * 2);
  }
  /// This head's element of an operand with one column for each head.
  template <typename T>
  [[nodiscard]] T& at(Matrix<T> x, Index row) const {
    return x.data[(first_row + row) * x.stride + head];
  }
};

/// Room for tiles, cut from a thread's area.
template <typename A>
class Tiles {
public:
  Tiles(Workspace const& workspace, int thread) : next_(workspace.tiles<A>(thread).data()) {}

  [[nodiscard]] A* take(Index size) {
    A* const first = next_;
    next_ += round_up(size, alignment_bytes / static_cast<Index>(sizeof(A)));
    return first;
  }

private:
  A* next_;
};

/// The largest block (a power of two, at most 64) for which all tiles fit: two sums and two blocks of scores.
template <typename A>
[[nodiscard]] Index attention_block(Index width) {
  constexpr Index slack = 4 * alignment_bytes; // what rounding up may take
  constexpr Index room = (Workspace::tile_bytes - slack) / static_cast<Index>(sizeof(A));
  Index block = 64;
  while (block > 1 && 2 * block * (width + block + 1) > room) {
    block /= 2;
  }
  if (2 * block * (width + block + 1) > room) {
    throw InvalidArgument(
        "CausalAttention: the tiles of this device hold heads of at most {} columns, but a head has {}; use more heads",
        room / 2 - 2, width);
  }
  return block;
}

/// Calls body(thread, head) for every head of every sequence.
template <typename A, typename Body>
void for_each_head(Workspace& workspace, Index rows, Index columns, Index sequence, Index heads, Body const& body) {
  assert(rows % sequence == 0 && columns % heads == 0 && "CausalAttention: whole sequences, and heads of one width");
  Index const width = columns / heads;
  Index const block = attention_block<A>(width);
  A const scale = A{1} / std::sqrt(static_cast<A>(width));
  Index const all = rows / sequence * heads;
  int const parts = worthwhile(workspace.threads(), rows * columns);
  for_each_part(parts, [&](int part) {
    Range const mine = part_of(all, part, parts);
    for (Index i = mine.first; i < mine.last; ++i) {
      body(part, Head<A>{sequence, width, i / heads * sequence, i % heads, block, scale});
    }
  });
}

/// The part of a softmax over keys that is done: for each query its largest score, before scaling, and the sum of
/// exponentials relative to it.
template <typename A>
struct RunningSoftmax {
  A* top;
  A* sum;

  void start(Index queries) const {
    std::fill_n(top, queries, -std::numeric_limits<A>::infinity());
    std::fill_n(sum, queries, A{0});
  }

  /// Turns the scores of a query with more keys into weights, and rescales what it has summed up in `out`.
  void advance(Index query, Vector<A> scores, A scale, Vector<A> out) const {
    A const before = top[query];
    A const now = maximum_of(scores.data, scores.size, before);
    A const factor = exponential(scale * (before - now));
    transform(scores.data, scores.data, scores.size, [=](A score) { return exponential(scale * (score - now)); });
    sum[query] = sum[query] * factor + sum_of<A>(scores.size, [=](Index j) { return scores.data[j]; });
    top[query] = now;
    transform(out.data, out.data, out.size, [=](A value) { return value * factor; });
  }
};

/// Gives the keys that a query must not see, all but the first `visible`, a score that has no weight.
template <typename A>
void hide(Vector<A> scores, Index visible) {
  if (visible < scores.size) {
    std::fill(scores.data + visible, scores.data + scores.size, -std::numeric_limits<A>::infinity());
  }
}

/// One block of queries against all keys it may see.
template <typename T, typename A>
void attend(Workspace const& workspace, int thread, Head<A> const& head, Index first, Matrix<T> out, Matrix<A> log_sum,
            Matrix<T const> qkv) {
  Tiles<A> tiles(workspace, thread);
  Index const queries = head.size_at(first);
  Matrix<A> const sum{tiles.take(queries * head.width), queries, head.width};
  RunningSoftmax<A> const softmax{tiles.take(queries), tiles.take(queries)};
  A* const score_tile = tiles.take(queries * head.block);
  softmax.start(queries);
  std::fill_n(sum.data, queries * head.width, A{0});
  for (Index start = 0; start <= first; start += head.block) {
    Matrix<A> const scores{score_tile, queries, head.size_at(start)};
    multiply(workspace, thread, scores, Start<A>{}, rows_of(head.queries(qkv, first)),
             columns_of(head.keys(qkv, start), true), head.width);
    for (Index i = 0; i != queries; ++i) {
      hide(scores.row(i), first + i - start + 1);
      softmax.advance(i, scores.row(i), head.scale, sum.row(i));
    }
    multiply(workspace, thread, sum, Start<A>{sum.data, sum.stride}, rows_of(Matrix<A const>(scores)),
             columns_of(head.values(qkv, start)), scores.columns);
  }
  Matrix<T> const target = head.rows(out, first);
  for (Index i = 0; i != queries; ++i) {
    A const share = A{1} / softmax.sum[i];
    std::transform(sum.row(i).data, sum.row(i).data + head.width, target.row(i).data,
                   [=](A value) { return convert<T>(value * share); });
    head.at(log_sum, first + i) = head.scale * softmax.top[i] + std::log(softmax.sum[i]);
  }
}

template <typename T, typename A = accumulator_t<T>>
void apply(Workspace& workspace, op::CausalAttention const& op, Matrix<T> out, Given<Matrix<A>> log_sum,
           Given<Matrix<T const>> qkv) {
  assert(qkv.rows == out.rows && qkv.columns == 3 * out.columns &&
         "CausalAttention: queries, keys and values for each row of out");
  assert(log_sum.rows == out.rows && log_sum.columns == op.heads && "CausalAttention: a log_sum for each row and head");
  for_each_head<A>(workspace, out.rows, out.columns, op.sequence, op.heads, [&](int thread, Head<A> const& head) {
    for (Index first = 0; first < op.sequence; first += head.block) {
      attend(workspace, thread, head, first, out, log_sum, qkv);
    }
  });
}

} // namespace cleave::detail::cpu
