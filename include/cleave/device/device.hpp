#pragma once

#include <concepts>
#include <cstddef>

#include <cleave/core/tensor.hpp>
#include <cleave/device/operations.hpp>
#include <cleave/policy/category.hpp>

namespace cleave {

/// How a stream runs: `threads` cores for each operation.
struct StreamOptions {
  int threads = 1;
};

/// A region of a device's memory: move-only, aligned to `alignment_bytes`, freed on destruction.
template <typename M>
concept device_memory =
    std::movable<M> && !std::copyable<M> && std::constructible_from<M, Index> && requires(M const& m) {
      { m.data() } -> std::same_as<std::byte*>;
      { m.size() } -> std::same_as<Index>;
    };

/// Operations in order, beside other streams.
///
///   run(op, views...)   starts one operation of device/operations.hpp
///   to_host(p, q, n), from_host(p, q, n)   start a copy of n bytes; the host side must stay valid until passed
///   record()            an event that completes when all work so far has
///   wait(event)         later work starts after the event
///   start(f)            calls f, which starts a collective and returns its handle, once the work before it is done;
///                       the D::Transfer<Handle> it returns, movable and empty at first, has finish(stream), which
///                       makes that stream wait for the result
///   workspace_bytes(options)   static, constexpr: what a stream made with these options allocates
///   synchronize()       the host waits; throws what an operation threw
template <typename S>
concept device_stream = requires(S& s, typename S::Event const& event, std::byte* to, std::byte const* from,
                                 Matrix<float> y, Matrix<float const> x) {
  s.run(op::Copy{}, y, x);
  s.to_host(to, from, Index{});
  s.from_host(to, from, Index{});
  { s.record() } -> std::same_as<typename S::Event>;
  s.wait(event);
  s.synchronize();
  { S::workspace_bytes(StreamOptions{}) } -> std::same_as<Index>;
  requires std::constructible_from<S, StreamOptions>;
};

/// Where tensors live and what computes on them.
template <typename D>
concept device_policy = policy_of<D, category::device> && device_memory<typename D::Memory> &&
                        device_stream<typename D::Stream> && requires {
                          // Fill a gathered buffer with NaN when it is released, so that a use after release shows.
                          { D::poisons_released } -> std::convertible_to<bool>;
                        };

} // namespace cleave
