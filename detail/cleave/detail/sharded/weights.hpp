#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include <cleave/detail/sharded/buffers.hpp>
#include <cleave/detail/sharded/configuration.hpp>

namespace cleave::detail {

template <typename T>
std::span<T> as_span(Vector<T> view) {
  return {view.data, static_cast<std::size_t>(view.size)};
}

/// The two streams and the ranks that a step works with.
template <typename C>
struct Lanes {
  typename C::Communicator& communicator;
  typename C::Device::Stream& compute;
  typename C::Device::Stream& exchange; // collectives, in the order they were started
};

/// Makes units' whole weights present and lets them go.
///
/// A unit is absent, in flight or present. Whoever takes a buffer waits for the event that its last user left, so
/// timing never decides what is in it.
template <typename C>
class Weights {
  using T = typename C::Compute;
  using Handle = decltype(std::declval<typename C::Communicator&>().all_gather(
      std::uint16_t{}, std::declval<std::span<T const>>(), std::declval<std::span<T>>()));
  using Transfer = typename C::Device::template Transfer<Handle>;
  using Event = typename C::Device::Stream::Event;

public:
  Weights(Lanes<C> lanes, Buffers<C> const& buffers) : lanes_(lanes), buffers_(buffers) {
    place_.fill(absent);
    tenant_.fill(absent);
    changed();
  }

  /// Starts to gather a unit, if it is absent and a buffer is free.
  void start(int unit) {
    if constexpr (!C::computes_on_master) {
      if (place_[at(unit)] == absent && free_buffer(unit) != absent) {
        gather(unit, free_buffer(unit));
      }
    }
  }

  /// The unit's flat parameter; the compute stream waits for it.
  T const* require(int unit) {
    if constexpr (C::computes_on_master) {
      return buffers_.master[at(unit)].data;
    } else {
      start(unit);
      transfers_[at(unit)].finish(lanes_.compute);
      return buffers_.whole[at(place_[at(unit)])].data;
    }
  }

  /// Gives the unit's buffer back once the compute stream is done with it.
  void release(int unit) {
    if constexpr (!C::computes_on_master) {
      int const buffer = std::exchange(place_[at(unit)], absent);
      if (buffer == absent) {
        return;
      }
      transfers_[at(unit)].finish(lanes_.compute);
      tenant_[at(buffer)] = absent;
      if constexpr (C::Device::poisons_released) {
        lanes_.compute.run(op::Fill{std::numeric_limits<double>::quiet_NaN()}, buffers_.whole[at(buffer)]);
      }
      idle_[at(buffer)] = lanes_.compute.record();
    }
  }

  /// Master weights were written on the compute stream: what was gathered is stale.
  void changed() {
    for (int unit = 0; unit != C::units; ++unit) {
      release(unit);
    }
    written_ = lanes_.compute.record();
  }

  [[nodiscard]] std::int64_t gathers() const { return gathers_; }

private:
  static constexpr int absent = -1;
  static constexpr std::size_t at(int index) { return static_cast<std::size_t>(index); }

  /// The buffer that a unit may use now: its own, or the first free one of those that are shared.
  [[nodiscard]] int free_buffer(int unit) const {
    if (C::keeps_whole || unit < C::roots) {
      return unit;
    }
    for (int buffer = C::roots; buffer < C::whole_buffers; ++buffer) {
      if (tenant_[at(buffer)] == absent) {
        return buffer;
      }
    }
    return absent;
  }

  void gather(int unit, int buffer) {
    place_[at(unit)] = buffer;
    tenant_[at(buffer)] = unit;
    lanes_.exchange.wait(written_);
    lanes_.exchange.wait(idle_[at(buffer)]);
    ShardLayout const layout = C::shard_layout(unit, lanes_.communicator.size());
    Vector<T> const all = buffers_.whole[at(buffer)].slice(0, layout.padded());
    if constexpr (C::Sharding::shards_optimizer) {
      transfers_[at(unit)] = all_gather(unit, own_slice(unit, all, layout), all);
      ++gathers_;
    } else { // every rank has all master weights: only the type changes
      lanes_.exchange.run(op::Cast{}, all, Vector<typename C::Master const>(buffers_.master[at(unit)]));
      lanes_.compute.wait(lanes_.exchange.record());
    }
  }

  /// What this rank contributes: its master slice, or the cast of it, made in place.
  Vector<T const> own_slice(int unit, Vector<T> all, ShardLayout layout) {
    Vector<typename C::Master const> const master = buffers_.master[at(unit)];
    if constexpr (std::same_as<T, typename C::Master>) {
      return master;
    } else {
      Vector<T> const mine = all.slice(lanes_.communicator.rank() * layout.shard(), layout.shard());
      lanes_.exchange.run(op::Cast{}, mine, master);
      return mine;
    }
  }

  Transfer all_gather(int unit, Vector<T const> mine, Vector<T> all) {
    return lanes_.exchange.start([&ranks = lanes_.communicator, unit, mine, all] {
      return ranks.all_gather(static_cast<std::uint16_t>(unit), detail::as_span(mine), detail::as_span(all));
    });
  }

  Lanes<C> lanes_;
  Buffers<C> const& buffers_;
  std::array<int, C::units> place_;                                     // unit -> buffer
  std::array<int, static_cast<std::size_t>(C::whole_buffers)> tenant_;  // buffer -> unit
  std::array<Event, static_cast<std::size_t>(C::whole_buffers)> idle_{};
  std::array<Transfer, C::units> transfers_;
  Event written_{};
  std::int64_t gathers_ = 0;
};

} // namespace cleave::detail
