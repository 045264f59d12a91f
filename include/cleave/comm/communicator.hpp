#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cleave/comm/tag.hpp>
#include <cleave/core/tensor.hpp>
#include <cleave/policy/category.hpp>

namespace cleave {

namespace comm {

/// How long a rank waits in a collective before it throws CommunicationError.
struct Options {
  std::chrono::milliseconds deadline{std::chrono::minutes{5}};
};

/// What a reduce-scatter does with its result.
enum class Into { overwrite, add };

} // namespace comm

/// One collective in flight. Move-only, because two owners would wait twice; the destructor waits, because
/// a buffer must not die under a transfer.
///
/// wait() throws CommunicationError when ranks disagree, the deadline passes, or another rank gave up (with that
/// rank's text).
template <typename H>
concept collective_handle = std::movable<H> && !std::copyable<H> && requires(H& h) {
  { h.wait() } -> std::same_as<void>;
  { h.test() } -> std::same_as<bool>;
};

// One concept per capability: a failed requirement then names the missing collective.

/// all_gather(unit, mine, all): `all` becomes the concatenation of every rank's `mine`. `mine` may be its own slice
/// of `all`.
template <typename C, typename T>
concept has_all_gather = requires(C& c, std::span<T const> mine, std::span<T> all) {
  { c.all_gather(std::uint16_t{}, mine, all) } -> collective_handle;
};

/// reduce_scatter(unit, all, mine, scratch, into): `mine` becomes (or has added to it) the sum over ranks, in rank
/// order, of their slice of `all` that is this rank's. Elements travel as Wire and are added as Sum, which is at least
/// as wide. `scratch` has reduce_scratch_bytes<Wire>(mine.size(), size()) bytes and stays in use until the end.
template <typename C, typename Wire, typename Sum>
concept has_reduce_scatter = requires(C& c, std::span<Wire const> all, std::span<Sum> mine,
                                      std::span<std::byte> scratch) {
  { c.reduce_scatter(std::uint16_t{}, all, mine, scratch, comm::Into::add) } -> collective_handle;
  { C::template reduce_scratch_bytes<Wire>(Index{}, 1) } -> std::same_as<Index>;
};

/// all_reduce(unit, values): blocking, in place, in rank order. For a few values: totals and norms.
template <typename C, typename T>
concept has_all_reduce = requires(C& c, std::span<T> values) {
  { c.all_reduce(std::uint16_t{}, values) } -> std::same_as<void>;
};

/// The ranks and their collectives, over host memory. Collectives are started in the same order on every rank.
/// Several may be in flight; one thread at a time may call.
///
///   broadcast(unit, span<T>, root)   blocking; T trivially copyable
///   barrier()                        blocking
///   split(color, key)                a communicator of the ranks with this color, ordered by (key, rank)
///   abort(text)                      gives up: every wait of every other rank throws `text`; noexcept, idempotent
///   name_units(names)                what unit numbers are called in messages
///   ranks_on_node()                  ranks that share this machine's cores, this one included
template <typename C>
concept communicator = policy_of<C, category::communicator> && std::movable<C> && !std::copyable<C> &&
                       requires(C& c, C const& constant, std::span<int> values, std::string_view text,
                                std::vector<std::string> names) {
                         { constant.rank() } -> std::same_as<int>;
                         { constant.size() } -> std::same_as<int>;
                         { constant.ranks_on_node() } -> std::same_as<int>;
                         { c.split(0, 0) } -> std::same_as<C>;
                         c.broadcast(std::uint16_t{}, values, 0);
                         c.barrier();
                         c.abort(text);
                         c.name_units(names);
                       } &&
                       has_all_gather<C, float> && has_reduce_scatter<C, float, float> && has_all_reduce<C, double>;

} // namespace cleave
