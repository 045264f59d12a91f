#pragma once

#include <cstddef>
#include <span>

#include <cleave/comm/sum.hpp>
#include <cleave/detail/comm/copy.hpp>
#include <cleave/detail/comm/thread_board.hpp>

namespace cleave::detail {

// One rank's part of each collective, read straight from the buffers of its peers.

inline void gather_part(ThreadSlot const& slot, int rank) {
  auto const ranks = slot.posts.size();
  ThreadPost const& own = slot.posts[static_cast<std::size_t>(rank)];
  for (std::size_t i = 0; i < ranks; ++i) {
    auto const other = (static_cast<std::size_t>(rank) + i) % ranks; // not all from the same rank at once
    copy_bytes(static_cast<std::byte*>(own.target) + other * own.size, slot.posts[other].source, own.size);
  }
}

template <typename Wire, typename Sum>
void reduce_part(ThreadSlot const& slot, int rank) {
  ThreadPost const& own = slot.posts[static_cast<std::size_t>(rank)];
  auto const slice = [&](int other) {
    return static_cast<Wire const*>(slot.posts[static_cast<std::size_t>(other)].source) +
           static_cast<std::size_t>(rank) * own.size;
  };
  comm::add_in_rank_order<Wire>(static_cast<int>(slot.posts.size()), slice,
                                std::span{static_cast<Sum*>(own.target), own.size}, own.into);
}

/// Every rank adds up everything.
template <typename T>
void sum_part(ThreadSlot const& slot, int rank) {
  ThreadPost const& own = slot.posts[static_cast<std::size_t>(rank)];
  auto const values = [&](int other) {
    return static_cast<T const*>(slot.posts[static_cast<std::size_t>(other)].source);
  };
  comm::add_in_rank_order<T>(static_cast<int>(slot.posts.size()), values,
                             std::span{static_cast<T*>(own.target), own.size}, own.into);
}

inline void broadcast_part(ThreadSlot const& slot, int rank) {
  auto const me = static_cast<std::size_t>(rank);
  auto const root = static_cast<std::size_t>(slot.calls[me].root);
  copy_bytes(slot.posts[me].target, slot.posts[root].source, slot.posts[me].size);
}

inline void barrier_part(ThreadSlot const&, int) {}

} // namespace cleave::detail
