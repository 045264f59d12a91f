#pragma once

#include <algorithm>
#include <cassert>

#include <cleave/detail/cpu/block.hpp>
#include <cleave/detail/cpu/parallel.hpp>
#include <cleave/detail/cpu/workspace.hpp>
#include <cleave/device/operations.hpp>

namespace cleave::detail::cpu {

/// f(0) + f(1) + .. + f(count - 1), in that order on any number of threads. `work` is the number of elements
/// behind each.
template <typename F>
[[nodiscard]] double ordered_sum(Workspace& workspace, Index count, Index work, F const& f) {
  auto const values = workspace.partial_sums();
  double sum = 0;
  for (Index start = 0; start < count; start += Workspace::sums) {
    Index const size = std::min(Workspace::sums, count - start);
    for_each_range(workspace.threads(), size, 1, size * work, [&](Index first, Index last) {
      for (Index i = first; i != last; ++i) {
        values[static_cast<std::size_t>(i)] = f(start + i);
      }
    });
    for (Index i = 0; i != size; ++i) {
      sum += values[static_cast<std::size_t>(i)];
    }
  }
  return sum;
}

/// Adds f(r, c) over all rows r to sums[c], c from `first` to `last`, columns side by side. Rows are summed in
/// groups, which keeps the rounding error of many rows small.
template <typename G, typename F>
void add_column_sums(G* sums, Index rows, Index first, Index last, F const& f) {
  constexpr Index group = 64;
  for (Index c = first; c < last; c += block_size) {
    Index const width = std::min(block_size, last - c);
    for (Index start = 0; start < rows; start += group) {
      G lane[block_size] = {};
      for (Index r = start; r != std::min(rows, start + group); ++r) {
        if (width == block_size) {
          for (Index j = 0; j != block_size; ++j) {
            lane[j] += static_cast<G>(f(r, c + j));
          }
        } else {
          for (Index j = 0; j != width; ++j) {
            lane[j] += static_cast<G>(f(r, c + j));
          }
        }
      }
      for (Index j = 0; j != width; ++j) {
        sums[c + j] += lane[j];
      }
    }
  }
}

template <typename G, typename Element>
void apply(Workspace& workspace, op::ColumnSums const&, Vector<G> sums, Matrix<Element> x) {
  assert(sums.size == x.columns && "ColumnSums: one sum for each column");
  for_each_range(workspace.threads(), x.columns, block_size, x.rows * x.columns, [&](Index first, Index last) {
    add_column_sums(sums.data, x.rows, first, last,
                    [&](Index r, Index c) { return convert<G>(x.data[r * x.stride + c]); });
  });
}

template <typename Element>
void apply(Workspace& workspace, op::SquareSum const&, double* sum, Vector<Element> x) {
  constexpr Index chunk = 4096;
  *sum += ordered_sum(workspace, (x.size + chunk - 1) / chunk, chunk, [&](Index i) {
    Element const* const first = x.data + i * chunk;
    return sum_of<double>(std::min(chunk, x.size - i * chunk), [&](Index j) {
      double const value = convert<double>(first[j]);
      return value * value;
    });
  });
}

} // namespace cleave::detail::cpu
