#pragma once

#include <algorithm>
#include <cassert>
#include <type_traits>

#include <cleave/detail/cpu/attention.hpp>
#include <cleave/detail/cpu/block.hpp>
#include <cleave/detail/cpu/functions.hpp>
#include <cleave/detail/cpu/matmul.hpp>
#include <cleave/detail/cpu/product.hpp>
#include <cleave/detail/cpu/workspace.hpp>
#include <cleave/device/operations.hpp>

namespace cleave::detail::cpu {

/// The gradient of one head, block of keys by block of queries, from weights that are computed again.
///
/// Types that sums can be kept in are summed up where they belong. Narrower ones are summed up in tiles and stored
/// once, for which the queries need a second round.
template <typename T>
class HeadGradient {
public:
  using A = accumulator_t<T>;

  struct Operands {
    Matrix<T> dqkv;
    Matrix<T const> dout;
    Matrix<T const> out;
    Matrix<A const> log_sum;
    Matrix<T const> qkv;
  };

  HeadGradient(Workspace const& workspace, int thread, Head<A> const& head, Operands const& operands)
      : workspace_(workspace), thread_(thread), head_(head), operands_(operands), tiles_(workspace, thread) {}

  void run() {
    for (Index start = 0; start < head_.sequence; start += head_.block) {
      keys_and_values(start);
    }
    for (Index first = 0; in_tiles && first < head_.sequence; first += head_.block) {
      queries(first);
    }
  }

private:
  static constexpr bool in_tiles = !std::is_same_v<T, A>;

  /// A block of the result, or the tile it is summed up in.
  [[nodiscard]] Matrix<A> sum_for(Matrix<T> target, A* tile) const {
    if constexpr (in_tiles) {
      return {tile, target.rows, target.columns};
    } else {
      return target;
    }
  }
  void store(Matrix<T> target, Matrix<A> sum) const {
    if constexpr (in_tiles) {
      convert_rows(target, sum);
    }
  }

  /// sum = a b, or += after the first time.
  template <typename Right>
  void add(Matrix<A> sum, bool first_time, Vectors<A> a, Vectors<Right> b, Index inner) const {
    multiply(workspace_, thread_, sum, first_time ? Start<A>{} : Start<A>{sum.data, sum.stride}, a, b, inner);
  }

  /// dk and dv of a block of keys, from all queries that see it.
  void keys_and_values(Index start) {
    Matrix<T> const key_target = head_.keys(operands_.dqkv, start);
    Matrix<T> const value_target = head_.values(operands_.dqkv, start);
    Matrix<A> const dk = sum_for(key_target, first_tile_);
    Matrix<A> const dv = sum_for(value_target, second_tile_);
    for (Index first = start; first < head_.sequence; first += head_.block) {
      bool const first_time = first == start;
      Index const queries = head_.size_at(first);
      recompute(first, start);
      add(dv, first_time, rows_of(weights(first, start), true), columns_of(head_.rows(operands_.dout, first)), queries);
      add(dk, first_time, rows_of(dscores(first, start), true), columns_of(head_.queries(operands_.qkv, first)),
          queries);
      if constexpr (!in_tiles) {
        add_queries(head_.queries(operands_.dqkv, first), first, start);
      }
    }
    store(key_target, dk);
    store(value_target, dv);
  }

  /// dq of a block of queries, from all keys they see.
  void queries(Index first) {
    Matrix<T> const target = head_.queries(operands_.dqkv, first);
    Matrix<A> const dq = sum_for(target, first_tile_);
    for (Index start = 0; start <= first; start += head_.block) {
      recompute(first, start);
      add_queries(dq, first, start);
    }
    store(target, dq);
  }

  void add_queries(Matrix<A> dq, Index first, Index start) const {
    add(dq, start == 0, rows_of(dscores(first, start)), columns_of(head_.keys(operands_.qkv, start)),
        head_.size_at(start));
  }

  /// The softmax weights p of a block of queries over a block of keys, and the gradient of their scores: p (dp - d),
  /// with d the product of a query's rows of dout and out.
  void recompute(Index first, Index start) const {
    Matrix<A> const p{weight_tile_, head_.size_at(first), head_.size_at(start)};
    Matrix<A> const ds{dscore_tile_, p.rows, p.columns};
    multiply(workspace_, thread_, p, Start<A>{}, rows_of(head_.queries(operands_.qkv, first)),
             columns_of(head_.keys(operands_.qkv, start), true), head_.width);
    multiply(workspace_, thread_, ds, Start<A>{}, rows_of(head_.rows(operands_.dout, first)),
             columns_of(head_.values(operands_.qkv, start), true), head_.width);
    Matrix<T const> const dout = head_.rows(operands_.dout, first);
    Matrix<T const> const out = head_.rows(operands_.out, first);
    for (Index i = 0; i != p.rows; ++i) {
      hide(p.row(i), first + i - start + 1);
      finish_row(p.row(i), ds.row(i), head_.at(operands_.log_sum, first + i), dot(dout.row(i), out.row(i)));
    }
  }

  void finish_row(Vector<A> p, Vector<A> ds, A log_sum, A d) const {
    A const scale = head_.scale;
    transform(p.data, p.data, p.size, [=](A score) { return exponential(scale * score - log_sum); });
    transform(ds.data, ds.data, p.data, ds.size, [=](A gradient, A weight) { return weight * (gradient - d) * scale; });
  }

  [[nodiscard]] static A dot(Vector<T const> a, Vector<T const> b) {
    return sum_of<A>(a.size, [&](Index i) { return convert<A>(a.data[i]) * convert<A>(b.data[i]); });
  }

  [[nodiscard]] Matrix<A const> weights(Index first, Index start) const {
    return {weight_tile_, head_.size_at(first), head_.size_at(start)};
  }
  [[nodiscard]] Matrix<A const> dscores(Index first, Index start) const {
    return {dscore_tile_, head_.size_at(first), head_.size_at(start)};
  }

  Workspace const& workspace_;
  int thread_;
  Head<A> head_;
  Operands operands_;
  Tiles<A> tiles_;
  A* first_tile_ = tiles_.take(head_.block * head_.width);
  A* second_tile_ = tiles_.take(head_.block * head_.width);
  A* weight_tile_ = tiles_.take(head_.block * head_.block);
  A* dscore_tile_ = tiles_.take(head_.block * head_.block);
};

template <typename T, typename A = accumulator_t<T>>
void apply(Workspace& workspace, op::CausalAttentionGradient const& op, Matrix<T> dqkv, Given<Matrix<T const>> dout,
           Given<Matrix<T const>> out, Given<Matrix<A const>> log_sum, Given<Matrix<T const>> qkv) {
  assert(dqkv.columns == qkv.columns && qkv.columns == 3 * out.columns && dout.columns == out.columns &&
         "CausalAttentionGradient: queries, keys and values for each row of out");
  for_each_head<A>(workspace, out.rows, out.columns, op.sequence, op.heads, [&](int thread, Head<A> const& head) {
    HeadGradient<T>(workspace, thread, head, {dqkv, dout, out, log_sum, qkv}).run();
  });
}

} // namespace cleave::detail::cpu
