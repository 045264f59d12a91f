#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <functional>
#include <iterator>
#include <span>
#include <type_traits>

#include <cleave/comm/communicator.hpp>
#include <cleave/core/scalar.hpp>
#include <cleave/core/tensor.hpp>

namespace cleave::comm {

/// Elements of Wire can be added up as Sum without losing any of them: a sum in bfloat16 would (256 + 1 is 256), so
/// bfloat16 is added as float.
template <typename Wire, typename Sum>
concept summable = (std::is_arithmetic_v<Wire> && std::same_as<Wire, Sum>) ||
                   (std::same_as<Wire, bfloat16> && std::same_as<Sum, float>);

/// The reduction of every communicator: `mine` becomes ((g0 + g1) + g2) + ..., or has that sum added to it, where g_r
/// is `slice(r)`, mine.size() elements of rank r, each widened before it is added. One function, so that the same
/// numbers give the same bits everywhere.
///
/// Works through pieces that stay in the first cache, so that every slice is read once and `mine` written once.
template <typename Wire, typename Sum, typename Slice>
  requires summable<Wire, Sum> && std::is_invocable_r_v<Wire const*, Slice&, int>
void add_in_rank_order(int ranks, Slice slice, std::span<Sum> mine, Into into) {
  constexpr Index piece = 8192 / Index{sizeof(Sum)};
  alignas(64) std::array<Sum, piece> storage;
  Sum* const sum = storage.data();
  Index const size = std::ssize(mine);
  for (Index first = 0; first < size; first += piece) {
    Index const count = std::min(piece, size - first);
    std::copy_n(slice(0) + first, count, sum);
    for (int rank = 1; rank < ranks; ++rank) {
      Wire const* const next = slice(rank) + first;
      for (Index i = 0; i < count; ++i) {
        sum[i] += static_cast<Sum>(next[i]);
      }
    }
    Sum* const result = mine.data() + first;
    if (into == Into::overwrite) {
      std::copy_n(sum, count, result);
    } else {
      std::transform(result, result + count, sum, result, std::plus<>{});
    }
  }
}

} // namespace cleave::comm
