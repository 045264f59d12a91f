#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/mpi/environment.hpp>
#include <mpi.h>

#include <cleave/core/error.hpp>
#include <cleave/detail/comm/mpi_call.hpp>
#include <cleave/detail/comm/pause.hpp>

namespace cleave::detail {

/// This process in MPI: set-up, the end, and how ranks tell each other that they failed. One for all communicators.
///
/// Collectives and what a rank does while it waits are called with `mutex` held; set-up, splits and the end are called
/// by one thread at a time anyway, so serialized MPI is enough.
///
/// Failing has three steps. The text goes to every rank. Then all meet: each rank keeps its transfers going until every
/// rank knows, for seconds at most, because a peer may still read or write the buffers that an exception would free.
/// Only ranks that have met call MPI_Finalize, which would wait forever for a rank that is lost.
class MpiSession {
public:
  static constexpr std::chrono::seconds patience{4}; ///< with ranks that may be lost

  /// Starts MPI unless somebody has, or joins the session that is open.
  [[nodiscard]] static std::shared_ptr<MpiSession> open(int argc, char** argv) {
    static std::mutex opening;
    static std::weak_ptr<MpiSession> current;
    std::scoped_lock const lock(opening);
    auto session = current.lock();
    if (session == nullptr) {
      session = std::shared_ptr<MpiSession>(new MpiSession(argc, argv));
      current = session;
    }
    return session;
  }

  MpiSession(MpiSession const&) = delete;
  MpiSession& operator=(MpiSession const&) = delete;
  ~MpiSession() {
    try {
      close();
    } catch (...) { // nobody is left to tell
    }
  }

  std::mutex mutex;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks_on_node() const { return ranks_on_node_; }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] std::string const& failure() const { return failure_; }

  /// Looks whether another rank has failed.
  void listen() {
    int arrived = 0;
    MPI_Status status;
    if (!failed_ && MPI_Test(&inbox_, &arrived, &status) == MPI_SUCCESS && arrived != 0) {
      int length = 0;
      MPI_Get_count(&status, MPI_BYTE, &length);
      remember(std::string(received_.data(), static_cast<std::size_t>(length)));
    }
  }

  /// The first text wins. Tells every rank.
  void fail(std::string text) {
    listen();
    if (failed_) {
      return;
    }
    text.resize(std::min(text.size(), received_.size()));
    auto const sent = std::make_shared<std::string>(text);
    kept_.push_back(sent);
    remember(std::move(text));
    tell(*sent, failure_tag);
  }

  /// Waits until every rank is here, or until `patience` after the failure. True if all came.
  ///
  /// They come twice. In between, after a failure, transfers that still can end do.
  bool meet(std::chrono::steady_clock::duration limit = patience) {
    auto const until = std::chrono::steady_clock::now() + limit;
    auto const over = [&] {
      return std::chrono::steady_clock::now() >= (failed_ ? std::min(until, lost_after_) : until);
    };
    for (Pause pause; meetings_ < 2 && !over(); pause()) {
      listen();
      if (!in_meeting_ && (meetings_ == 0 || is_quiet())) {
        in_meeting_ = true;
        check_mpi(MPI_Ibarrier(control_, &meeting_), "MPI_Ibarrier");
      }
      int all_here = 0;
      check_mpi(MPI_Test(&meeting_, &all_here, MPI_STATUS_IGNORE), "MPI_Ibarrier");
      carry_on();
      if (in_meeting_ && all_here != 0) {
        in_meeting_ = false;
        ++meetings_;
        met_at_ = std::chrono::steady_clock::now();
      }
    }
    return meetings_ == 2;
  }

  /// After a failure: whether this rank reports it. That is rank 0 if all have met, else the first that finds no other
  /// has.
  [[nodiscard]] bool speaks_for_all() {
    if (meet()) {
      return rank_ == 0;
    }
    auto const turn = std::chrono::milliseconds{rank_ == 0 ? 0 : 500 + 20 * rank_};
    auto const until = std::chrono::steady_clock::now() + turn;
    int taken = 0;
    for (Pause pause; taken == 0; pause()) {
      MPI_Iprobe(MPI_ANY_SOURCE, spoken_tag, control_, &taken, MPI_STATUS_IGNORE);
      if (taken == 0 && std::chrono::steady_clock::now() >= until) {
        tell({}, spoken_tag);
        return true;
      }
    }
    return false;
  }

  /// Keeps what transfers that nobody will end may still use: it must not be freed before MPI is over.
  template <typename T>
  void keep(T&& thing) {
    kept_.push_back(std::make_shared<std::remove_cvref_t<T>>(std::forward<T>(thing)));
  }

private:
  static constexpr int failure_tag = 1;
  static constexpr int spoken_tag = 2;

  MpiSession(int argc, char** argv) {
    if (boost::mpi::environment::finalized()) {
      throw CommunicationError("Mpi: MPI has been finalized in this process and cannot start again. "
                               "Keep one comm::Mpi alive for the whole program.");
    }
    if (!boost::mpi::environment::initialized()) {
      using boost::mpi::threading::multiple;
      environment_ = std::make_unique<boost::mpi::environment>(argc, argv, multiple, /*abort_on_exception=*/false);
    }
    if (boost::mpi::environment::thread_level() < boost::mpi::threading::serialized) {
      throw CommunicationError("Mpi: this MPI lets only one thread call it, expected MPI_THREAD_SERIALIZED or more. "
                               "Initialise it with that level, or use an MPI that was built for threads.");
    }
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &control_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(control_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(control_, &rank_);
    MPI_Comm_size(control_, &size_);
    count_node();
    check_mpi(MPI_Irecv(received_.data(), static_cast<int>(received_.size()), MPI_BYTE, MPI_ANY_SOURCE, failure_tag,
                        control_, &inbox_),
              "MPI_Irecv");
  }

  void count_node() {
    MPI_Comm node = MPI_COMM_NULL;
    check_mpi(MPI_Comm_split_type(control_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
    MPI_Comm_size(node, &ranks_on_node_);
    MPI_Comm_free(&node);
  }

  /// Transfers go on inside of MPI calls; this is one.
  void carry_on() {
    int found = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, spoken_tag, control_, &found, MPI_STATUS_IGNORE);
  }

  [[nodiscard]] bool is_quiet() const {
    constexpr std::chrono::milliseconds last_transfers{50};
    return !failed_ || std::chrono::steady_clock::now() >= met_at_ + last_transfers;
  }

  void remember(std::string text) {
    failed_ = true;
    failure_ = std::move(text);
    lost_after_ = std::chrono::steady_clock::now() + patience;
  }

  // Texts are short enough to be sent without the receiver's help.
  void tell(std::string const& text, int tag) {
    for (int other = 0; other < size_; ++other) {
      if (other != rank_) {
        MPI_Request sent = MPI_REQUEST_NULL;
        MPI_Isend(text.data(), static_cast<int>(text.size()), MPI_BYTE, other, tag, control_, &sent);
        MPI_Request_free(&sent); // `text` is kept until MPI is over
      }
    }
  }

  void close() {
    if (boost::mpi::environment::finalized()) {
      return; // by whoever started it
    }
    bool const owner = environment_ != nullptr;
    bool const all_end = owner && meet(std::chrono::years{1});
    if (inbox_ != MPI_REQUEST_NULL) {
      MPI_Cancel(&inbox_);
      MPI_Request_free(&inbox_);
    }
    if (!failed_) {
      MPI_Comm_free(&control_);
    }
    if (all_end) {
      environment_.reset(); // before `kept_` goes
    } else {
      leave_behind();
    }
  }

  /// MPI goes on, or the process ends without MPI_Finalize: what MPI may still use stays for good.
  void leave_behind() {
    static auto* const left = new std::vector<std::shared_ptr<void>>; // never destroyed, still reachable
    kept_.push_back(std::move(environment_));
    left->insert(left->end(), kept_.begin(), kept_.end());
  }

  std::vector<std::shared_ptr<void>> kept_;
  std::unique_ptr<boost::mpi::environment> environment_; // null when somebody else started MPI
  MPI_Comm control_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  int ranks_on_node_ = 1;

  std::array<char, 2048> received_{};
  MPI_Request inbox_ = MPI_REQUEST_NULL;
  bool failed_ = false;
  std::string failure_;
  std::chrono::steady_clock::time_point lost_after_;

  MPI_Request meeting_ = MPI_REQUEST_NULL;
  bool in_meeting_ = false;
  int meetings_ = 0;
  std::chrono::steady_clock::time_point met_at_;
};

} // namespace cleave::detail
