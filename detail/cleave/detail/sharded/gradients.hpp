#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <cleave/detail/sharded/weights.hpp>

namespace cleave::detail {

/// Gives units a buffer for their gradient, and reduces it into this rank's slice once it is complete.
template <typename C>
class Gradients {
  using G = typename C::Gradient;
  using Handle = decltype(std::declval<typename C::Communicator&>().reduce_scatter(
      std::uint16_t{}, std::declval<std::span<G const>>(), std::declval<std::span<G>>(),
      std::declval<std::span<std::byte>>(), comm::Into::add));
  using Transfer = typename C::Device::template Transfer<Handle>;

public:
  Gradients(Lanes<C> lanes, Buffers<C> const& buffers) : lanes_(lanes), buffers_(buffers) {}

  /// The unit's gradient, all zero the first time since it was reduced. The buffer's last reduction is waited for.
  G* open(int unit) {
    Vector<G> const gradient = whole(unit);
    if (!std::exchange(open_[at(unit)], true)) {
      finish_using(unit);
      lanes_.compute.run(op::Fill{0}, gradient);
    }
    return gradient.data;
  }

  /// The gradient is complete: starts its reduce-scatter, which adds to what this step reduced before.
  void reduce(int unit) {
    open(unit); // a unit that was not used contributes zeros
    open_[at(unit)] = false;
    lanes_.exchange.wait(lanes_.compute.record());
    comm::Into const into = std::exchange(reduced_[at(unit)], true) ? comm::Into::add : comm::Into::overwrite;
    int const slot = slot_of(unit);
    auto start = [&ranks = lanes_.communicator, unit, into, all = Vector<G const>(whole(unit)),
                  mine = buffers_.reduced[at(unit)], scratch = scratch_of(unit)] {
      return ranks.reduce_scatter(static_cast<std::uint16_t>(unit), detail::as_span(all), detail::as_span(mine),
                                  detail::as_span(scratch), into);
    };
    transfers_[at(slot)] = lanes_.exchange.start(start);
    ++reduce_scatters_;
  }

  /// The compute stream waits for every reduction.
  void finish() {
    for (Transfer& transfer : transfers_) {
      transfer.finish(lanes_.compute);
    }
  }

  /// Forgets what layers added to buffers that were not reduced: a forward that no backward followed.
  void discard() { open_.fill(false); }

  /// Gradients were used, or are not wanted: the next reduction overwrites them.
  void clear() { reduced_.fill(false); }

  /// Makes the reduced gradients whole on every rank, for a step on whole master weights (no sharding).
  void gather() {
    for (int unit = 0; unit != C::units; ++unit) {
      lanes_.exchange.wait(lanes_.compute.record());
      auto start = [&ranks = lanes_.communicator, unit, mine = Vector<G const>(buffers_.reduced[at(unit)]),
                    all = whole(unit)] {
        return ranks.all_gather(static_cast<std::uint16_t>(unit), detail::as_span(mine), detail::as_span(all));
      };
      auto transfer = lanes_.exchange.start(start);
      transfer.finish(lanes_.compute);
    }
  }

  [[nodiscard]] Vector<G> whole(int unit) const {
    ShardLayout const layout = C::shard_layout(unit, lanes_.communicator.size());
    return buffers_.gradients[at(buffer_of(unit))].slice(0, layout.padded());
  }
  [[nodiscard]] std::int64_t reduce_scatters() const { return reduce_scatters_; }

private:
  static constexpr std::size_t at(int index) { return static_cast<std::size_t>(index); }

  /// Neighbouring units take turns, so that one is computed while the other is reduced.
  static constexpr int slot_of(int unit) {
    return unit < C::roots ? 0 : C::roots + (unit - C::roots) % std::max(1, C::reductions);
  }
  static constexpr int buffer_of(int unit) { return C::Sharding::shards_gradients ? slot_of(unit) : unit; }

  Vector<std::byte> scratch_of(int unit) const {
    ShardLayout const layout = C::shard_layout(unit, lanes_.communicator.size());
    return buffers_.scratch[at(slot_of(unit))].slice(
        0, C::Communicator::template reduce_scratch_bytes<G>(layout.shard(), layout.ranks));
  }
  void finish_using(int unit) { transfers_[at(slot_of(unit))].finish(lanes_.compute); }

  Lanes<C> lanes_;
  Buffers<C> const& buffers_;
  std::array<Transfer, static_cast<std::size_t>(C::scratch_buffers)> transfers_;
  std::array<bool, C::units> open_{};    // has a zeroed buffer that layers add to
  std::array<bool, C::units> reduced_{}; // has been reduced since the last step
  std::int64_t reduce_scatters_ = 0;
};

} // namespace cleave::detail
