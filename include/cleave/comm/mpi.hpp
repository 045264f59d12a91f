#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/mpi/communicator.hpp>
#include <mpi.h>

#include <cleave/comm/communicator.hpp>
#include <cleave/comm/sum.hpp>
#include <cleave/core/scalar.hpp>
#include <cleave/core/tensor.hpp>
#include <cleave/detail/comm/check.hpp>
#include <cleave/detail/comm/copy.hpp>
#include <cleave/detail/comm/handle.hpp>
#include <cleave/detail/comm/mpi_call.hpp>
#include <cleave/detail/comm/mpi_channel.hpp>
#include <cleave/detail/comm/mpi_session.hpp>
#include <cleave/detail/comm/split.hpp>

namespace cleave::comm {

/// Ranks that are processes under mpirun.
///
/// A reduce-scatter exchanges slices and adds them up where they are needed, so that its bits are those of every other
/// communicator. Handles may be waited for in any order, and in another thread than the one that starts collectives.
/// Transfers go on in calls to wait() and test(). One failure fails the world and all its splits.
class Mpi {
public:
  using policy_category = category::communicator;
  using Handle = detail::CollectiveHandle<detail::MpiChannel>;

  /// Starts MPI, and ends it when the last communicator is gone. An MPI that runs already is used, and left running.
  /// The object must end before main does. Throws CommunicationError if MPI allows no threads.
  Mpi(int argc, char** argv, Options options = {})
      : Mpi(detail::MpiSession::open(argc, argv),
            boost::mpi::communicator(MPI_COMM_WORLD, boost::mpi::comm_attach), options) {
    channel_->announce_exceptions();
  }
  Mpi(Mpi&&) noexcept = default;
  Mpi& operator=(Mpi&&) noexcept = default;

  [[nodiscard]] int rank() const { return channel_->rank(); }
  [[nodiscard]] int size() const { return channel_->size(); }
  [[nodiscard]] int ranks_on_node() const { return channel_->session()->ranks_on_node(); }

  /// `all` becomes every rank's `mine`, one after the other; see communicator.hpp.
  template <typename T>
    requires std::is_trivially_copyable_v<T>
  [[nodiscard]] Handle all_gather(std::uint16_t unit, std::span<T const> mine, std::span<T> all) {
    detail::check_slices("all_gather", all.size(), mine.size(), size());
    return gather(detail::call_of<T>(Operation::all_gather, unit, mine.size()), mine, all.data(), {});
  }

  /// `mine` becomes, or has added to it, the sum of every rank's slice of `all` for this rank; see communicator.hpp.
  template <typename Wire, typename Sum>
    requires summable<Wire, Sum>
  [[nodiscard]] Handle reduce_scatter(std::uint16_t unit, std::span<Wire const> all, std::span<Sum> mine,
                                      std::span<std::byte> scratch, Into into) {
    detail::check_slices("reduce_scatter", all.size(), mine.size(), size());
    detail::check_scratch(scratch.size(), reduce_scratch_bytes<Wire>(std::ssize(mine), size()));
    auto const post = [&](MPI_Comm communicator, MPI_Request* request) {
      detail::MpiBytes const bytes(mine.size() * sizeof(Wire));
      return MPI_Ialltoall(all.data(), bytes.count(), bytes.type(), scratch.data(), bytes.count(), bytes.type(),
                           communicator, request);
    };
    return start(detail::call_of<Wire>(Operation::reduce_scatter, unit, all.size()),
                 sum_of<Wire>(scratch.data(), mine, into), post);
  }

  template <typename Wire>
  [[nodiscard]] static constexpr Index reduce_scratch_bytes(Index count, int ranks) {
    return count * ranks * Index{sizeof(Wire)};
  }

  /// Adds up `values` over the ranks, in rank order. Blocking.
  template <typename T>
    requires summable<T, T>
  void all_reduce(std::uint16_t unit, std::span<T> values) {
    auto const call = detail::call_of<T>(Operation::all_reduce, unit, values.size());
    std::size_t first = 0;
    do {
      std::size_t const count = std::min(detail::MpiChannel::few_bytes / sizeof(T), values.size() - first);
      auto const piece = values.subspan(first, count);
      void* const pieces = channel_->few();
      gather(call, std::span<T const>(piece), pieces, sum_of<T>(pieces, piece, Into::overwrite)).wait();
      first += count;
    } while (first < values.size());
  }

  /// `values` of rank `root` replace everybody's. Blocking.
  template <typename T>
    requires std::is_trivially_copyable_v<T>
  void broadcast(std::uint16_t unit, std::span<T> values, int root) {
    detail::check_root(root, size());
    auto call = detail::call_of<T>(Operation::broadcast, unit, values.size());
    call.root = root;
    auto const post = [&](MPI_Comm communicator, MPI_Request* request) {
      detail::MpiBytes const bytes(values.size_bytes());
      return MPI_Ibcast(values.data(), bytes.count(), bytes.type(), root, communicator, request);
    };
    start(call, {}, post).wait();
  }

  /// Returns when every rank has called it. That every rank's call is known says so; there is no data.
  void barrier() {
    auto const post = [](MPI_Comm, MPI_Request*) { return MPI_SUCCESS; };
    start(detail::call_of<std::byte>(Operation::barrier, no_unit, 0), {}, post).wait();
  }

  /// The ranks with the same color, ordered by (key, rank). Every rank must call it.
  [[nodiscard]] Mpi split(int color, int key) {
    std::vector<detail::SplitChoice> choices(static_cast<std::size_t>(size()));
    detail::SplitChoice const mine{color, key};
    all_gather(no_unit, std::span{&mine, 1}, std::span{choices}).wait(); // with a deadline, which MPI has not
    static_cast<void>(detail::split_group(choices, rank()));
    Mpi part(channel_->session(), channel_->data().split(color, key), channel_->options());
    part.name_units(channel_->wording().units());
    return part;
  }

  /// Gives up: every wait of every other rank throws `text`, after this rank's name. Takes until all know, for seconds
  /// at most.
  void abort(std::string_view text) noexcept {
    try {
      channel_->abort(text);
    } catch (...) { // MPI itself is broken: the deadline will tell the others
    }
  }

  void name_units(std::vector<std::string> names) { channel_->wording().name_units(std::move(names)); }

  /// After a failure: whether this rank reports it for all, which is rank 0 if it lives.
  [[nodiscard]] bool speaks_for_all() noexcept {
    std::scoped_lock const lock(channel_->session()->mutex);
    try {
      return channel_->session()->speaks_for_all();
    } catch (...) {
      return true; // better twice than never
    }
  }

private:
  Mpi(std::shared_ptr<detail::MpiSession> session, boost::mpi::communicator const& communicator, Options options)
      : channel_(std::make_shared<detail::MpiChannel>(std::move(session), communicator, options)) {}

  template <typename Wire, typename Sum>
  [[nodiscard]] static detail::MpiArrival sum_of(void const* slices, std::span<Sum> mine, Into into) {
    auto const part = [](detail::MpiArrival const& arrival, int ranks) {
      auto const slice = [&](int rank) {
        return static_cast<Wire const*>(arrival.source) + static_cast<std::size_t>(rank) * arrival.size;
      };
      add_in_rank_order<Wire>(ranks, slice, std::span{static_cast<Sum*>(arrival.target), arrival.size}, arrival.into);
    };
    return {.source = slices, .target = mine.data(), .size = mine.size(), .into = into, .part = part};
  }

  template <typename T>
  [[nodiscard]] Handle gather(detail::CollectiveCall const& call, std::span<T const> mine, void* all,
                              detail::MpiArrival const& arrival) {
    detail::copy_bytes(static_cast<T*>(all) + static_cast<std::size_t>(rank()) * mine.size(), mine.data(),
                       mine.size_bytes());
    auto const post = [&](MPI_Comm communicator, MPI_Request* request) {
      detail::MpiBytes const bytes(mine.size_bytes());
      return MPI_Iallgather(MPI_IN_PLACE, 0, MPI_BYTE, all, bytes.count(), bytes.type(), communicator, request);
    };
    return start(call, arrival, post);
  }

  template <typename Post>
  [[nodiscard]] Handle start(detail::CollectiveCall const& call, detail::MpiArrival const& arrival, Post const& post) {
    return {channel_, channel_->start(call, arrival, post)};
  }

  std::shared_ptr<detail::MpiChannel> channel_;
};

static_assert(communicator<Mpi>);
static_assert(has_reduce_scatter<Mpi, double, double> && has_reduce_scatter<Mpi, bfloat16, float>);

} // namespace cleave::comm
