#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/mpi/communicator.hpp>
#include <mpi.h>

#include <cleave/comm/communicator.hpp>
#include <cleave/core/error.hpp>
#include <cleave/detail/comm/call.hpp>
#include <cleave/detail/comm/deadline.hpp>
#include <cleave/detail/comm/mpi_call.hpp>
#include <cleave/detail/comm/mpi_session.hpp>
#include <cleave/detail/comm/pause.hpp>

namespace cleave::detail {

/// What is left to do when the data has arrived: a local sum.
struct MpiArrival {
  using Part = void (*)(MpiArrival const& arrival, int ranks);

  void const* source = nullptr;
  void* target = nullptr;
  std::size_t size = 0;
  comm::Into into = comm::Into::overwrite;
  Part part = nullptr;
};

struct MpiSlot {
  std::uint64_t sequence = 0;
  CollectiveCall call;
  std::vector<CollectiveCall> calls; // every rank's
  MPI_Request calls_request = MPI_REQUEST_NULL;
  MPI_Request data_request = MPI_REQUEST_NULL;
  MpiArrival arrival;
  bool agreed = false;
  bool complete = true;
};

/// One rank's end of an MPI communicator: a ring of collectives in flight, each a transfer of data and, on a
/// communicator of its own, one of what every rank believes it is.
class MpiChannel {
public:
  static constexpr std::size_t ring = 32;
  static constexpr std::size_t few_bytes = 2048;

  MpiChannel(std::shared_ptr<MpiSession> session, boost::mpi::communicator const& communicator, comm::Options options)
      : session_(std::move(session)), data_(communicator, boost::mpi::comm_duplicate),
        calls_(communicator, boost::mpi::comm_duplicate), options_(options), rank_(data_.rank()), size_(data_.size()),
        wording_(world_ranks()), slots_(ring), few_(few_bytes * static_cast<std::size_t>(size_)) {
    MPI_Comm_set_errhandler(data_, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(calls_, MPI_ERRORS_RETURN);
    for (MpiSlot& slot : slots_) {
      slot.calls.resize(static_cast<std::size_t>(size_));
    }
  }
  MpiChannel(MpiChannel const&) = delete;
  MpiChannel& operator=(MpiChannel const&) = delete;

  /// Without a failure every handle has waited before, so nothing is in flight.
  ~MpiChannel() {
    std::scoped_lock const lock(session_->mutex);
    try {
      if (std::uncaught_exceptions() > exceptions_) {
        session_->fail(wording_.gave_up(rank_, "an exception ended its program."));
      }
      if (session_->failed()) {
        session_->keep(std::move(data_));
        session_->keep(std::move(calls_));
        session_->keep(std::move(slots_));
        session_->keep(std::move(few_));
      }
    } catch (...) { // errors cannot leave a destructor
    }
  }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] comm::Options options() const { return options_; }
  [[nodiscard]] CallWording& wording() { return wording_; }
  [[nodiscard]] std::shared_ptr<MpiSession> const& session() const { return session_; }
  [[nodiscard]] boost::mpi::communicator const& data() const { return data_; }

  /// Room for `few_bytes` of every rank: the values of an all-reduce.
  [[nodiscard]] void* few() { return few_.data(); }

  /// A rank that leaves on an exception which nobody announced tells the others that it does.
  void announce_exceptions() { exceptions_ = std::uncaught_exceptions(); }

  /// Starts the next collective, whose data `post(communicator, request)` sends off, and returns its number. Blocks
  /// only when a whole ring is in flight.
  template <typename Post>
  std::uint64_t start(CollectiveCall call, MpiArrival const& arrival, Post post) {
    if (next_ >= ring) {
      finish(next_ - ring);
    }
    std::scoped_lock const lock(session_->mutex);
    throw_if_failed();
    MpiSlot& here = slot(next_);
    here.sequence = next_;
    here.call = call;
    here.call.tag.sequence = static_cast<std::uint32_t>(next_);
    here.arrival = arrival;
    here.agreed = here.complete = false;
    exchange_calls(here);
    check(post(data_, &here.data_request), "starting a collective");
    return next_++;
  }

  void finish(std::uint64_t sequence) {
    Deadline const deadline(options_.deadline);
    for (Pause pause; !finished(sequence); pause()) {
      if (deadline.passed()) {
        std::scoped_lock const lock(session_->mutex);
        session_->fail(overdue(slot(sequence), deadline));
      }
    }
  }

  [[nodiscard]] bool finished(std::uint64_t sequence) {
    std::scoped_lock const lock(session_->mutex);
    if (is_complete(sequence)) {
      return true;
    }
    throw_if_failed();
    // Earlier ones too: when ranks disagreed there, this one may never end.
    while (oldest_ <= sequence && advance(slot(oldest_))) {
      ++oldest_;
    }
    for (std::uint64_t later = oldest_; later <= sequence; ++later) {
      advance(slot(later));
    }
    return is_complete(sequence);
  }

  void abort(std::string_view text) {
    std::scoped_lock const lock(session_->mutex);
    session_->fail(wording_.gave_up(rank_, text));
    session_->meet();
  }

private:
  [[nodiscard]] MpiSlot& slot(std::uint64_t sequence) { return slots_[sequence % ring]; }
  [[nodiscard]] bool is_complete(std::uint64_t sequence) {
    return slot(sequence).sequence > sequence || slot(sequence).complete;
  }

  [[nodiscard]] std::vector<int> world_ranks() const {
    std::vector<int> ranks(static_cast<std::size_t>(size_));
    int const mine = session_->rank();
    check_mpi(MPI_Allgather(&mine, 1, MPI_INT, ranks.data(), 1, MPI_INT, data_), "MPI_Allgather");
    return ranks;
  }

  void exchange_calls(MpiSlot& here) {
    for (CollectiveCall& call : here.calls) {
      call.root = CollectiveCall::not_arrived;
    }
    constexpr int bytes = sizeof(CollectiveCall);
    check(MPI_Iallgather(&here.call, bytes, MPI_BYTE, here.calls.data(), bytes, MPI_BYTE, calls_, &here.calls_request),
          "MPI_Iallgather");
  }

  /// Brings one collective forward; true when it is complete.
  bool advance(MpiSlot& here) {
    if (here.complete) {
      return true;
    }
    if (!here.agreed) {
      if (!test(here.calls_request)) {
        return false;
      }
      if (int const other = first_disagreement(here.calls); other != 0) {
        session_->fail(wording_.disagreement(here.calls, other));
        throw_if_failed();
      }
      here.agreed = true;
    }
    if (!test(here.data_request)) {
      return false;
    }
    if (here.arrival.part != nullptr) {
      here.arrival.part(here.arrival, size_);
    }
    return here.complete = true;
  }

  [[nodiscard]] bool test(MPI_Request& request) {
    int arrived = 0;
    check(MPI_Test(&request, &arrived, MPI_STATUS_IGNORE), "a collective");
    return arrived != 0;
  }

  void check(int result, std::string_view what) {
    try {
      check_mpi(result, what);
    } catch (CommunicationError const& error) {
      session_->fail(wording_.gave_up(rank_, error.what()));
      throw_if_failed();
    }
  }

  /// An exception frees buffers, so it must not leave before transfers have come to rest.
  void throw_if_failed() {
    session_->listen();
    if (session_->failed()) {
      session_->meet();
      throw CommunicationError("{}", session_->failure());
    }
  }

  // MPI does not say who is missing. What has not come still is what was written before; that is enough for a hint.
  [[nodiscard]] std::string overdue(MpiSlot const& here, Deadline const& deadline) const {
    std::vector<int> missing;
    for (int other = 0; other < size_; ++other) {
      if (here.calls[static_cast<std::size_t>(other)].root == CollectiveCall::not_arrived && other != rank_) {
        missing.push_back(other);
      }
    }
    return wording_.overdue(rank_, missing, here.call, deadline.waited());
  }

  std::shared_ptr<MpiSession> session_;
  boost::mpi::communicator data_;
  boost::mpi::communicator calls_;
  comm::Options options_;
  int rank_;
  int size_;
  CallWording wording_;
  std::vector<MpiSlot> slots_;
  std::vector<std::byte> few_;
  std::uint64_t next_ = 0;   // the collective that starts next
  std::uint64_t oldest_ = 0; // all before it are complete
  int exceptions_ = std::numeric_limits<int>::max();
};

} // namespace cleave::detail
