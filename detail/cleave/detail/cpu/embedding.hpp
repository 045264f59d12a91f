#pragma once

#include <algorithm>
#include <cassert>

#include <cleave/detail/cpu/block.hpp>
#include <cleave/detail/cpu/elementwise.hpp>
#include <cleave/detail/cpu/parallel.hpp>
#include <cleave/detail/cpu/workspace.hpp>
#include <cleave/device/operations.hpp>

namespace cleave::detail::cpu {

template <typename T>
void apply(Workspace& workspace, op::Embedding const&, Matrix<T> y, Given<Matrix<T const>> table, Tokens tokens) {
  assert(y.rows == tokens.size && y.columns == table.columns && "Embedding: a row of y for each token");
  for_each_range(workspace.threads(), y.rows, 1, y.rows * y.columns, [&](Index first, Index last) {
    for (Index r = first; r != last; ++r) {
      assert(tokens.data[r] >= 0 && tokens.data[r] < table.rows && "Embedding: a token beyond the table");
      std::copy_n(table.row(tokens.data[r]).data, y.columns, y.row(r).data);
    }
  });
}

/// to[i] += from[i].
template <typename G, typename T>
void add_row(G* __restrict to, T const* __restrict from, Index n) {
  for (Index i = 0; i != n; ++i) {
    to[i] += convert<G>(from[i]);
  }
}

/// Threads take columns, because two rows may go to one token.
template <typename G, typename Element>
void apply(Workspace& workspace, op::EmbeddingGradient const&, Matrix<G> dtable, Matrix<Element> dy, Tokens tokens) {
  assert(dy.rows == tokens.size && dy.columns == dtable.columns && "EmbeddingGradient: a row of dy for each token");
  for_each_range(workspace.threads(), dy.columns, block_size, dy.rows * dy.columns, [&](Index first, Index last) {
    for (Index r = 0; r != dy.rows; ++r) {
      assert(tokens.data[r] >= 0 && tokens.data[r] < dtable.rows && "EmbeddingGradient: a token beyond the table");
      add_row(dtable.row(tokens.data[r]).data + first, dy.row(r).data + first, last - first);
    }
  });
}

template <typename T>
void apply(Workspace& workspace, op::AddPositions const& op, Matrix<T> y, Given<Matrix<T const>> x,
           Given<Matrix<T const>> table) {
  assert(same_shape(y, x) && y.columns == table.columns && op.sequence <= table.rows &&
         "AddPositions: a row for each position");
  for_each_range(workspace.threads(), y.rows, 1, y.rows * y.columns, [&](Index first, Index last) {
    for (Index r = first; r != last; ++r) {
      transform(y.row(r).data, x.row(r).data, table.row(r % op.sequence).data, y.columns,
                [](auto left, auto right) { return left + right; });
    }
  });
}

template <typename G, typename Element>
void apply(Workspace& workspace, op::AddPositionsGradient const& op, Matrix<G> dtable, Matrix<Element> dy) {
  assert(dy.columns == dtable.columns && op.sequence <= dtable.rows && "AddPositionsGradient: a row for each position");
  for_each_range(workspace.threads(), op.sequence, 1, dy.rows * dy.columns, [&](Index first, Index last) {
    for (Index start = 0; start < dy.rows; start += op.sequence) {
      for (Index p = first; p != std::min(last, dy.rows - start); ++p) {
        add_row(dtable.row(p).data, dy.row(start + p).data, dy.columns);
      }
    }
  });
}

} // namespace cleave::detail::cpu
