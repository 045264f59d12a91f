#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <cleave/comm/communicator.hpp>
#include <cleave/core/error.hpp>
#include <cleave/detail/comm/call.hpp>
#include <cleave/detail/comm/deadline.hpp>
#include <cleave/detail/comm/thread_board.hpp>

namespace cleave::detail {

/// One rank's end of a board.
///
/// A rank does its parts of collectives in the order in which they were started, whichever handle is waited for. That
/// is why waiting in different orders on different ranks cannot deadlock: a rank that waits for collective k has done
/// its part of all before k, and everybody who waits for a later one will do its part of k first.
class ThreadMember {
public:
  ThreadMember(std::shared_ptr<ThreadBoard> board, int rank, comm::Options options)
      : board_(std::move(board)), rank_(rank), options_(options), wording_(board_->world_ranks()) {}

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] ThreadBoard& board() { return *board_; }
  [[nodiscard]] ThreadBoard const& board() const { return *board_; }
  [[nodiscard]] comm::Options options() const { return options_; }
  [[nodiscard]] CallWording& wording() { return wording_; }

  /// Starts the next collective and returns its number. Blocks only when a whole ring is in flight.
  std::uint64_t start(CollectiveCall call, ThreadPost const& post) {
    Deadline const deadline(options_.deadline);
    Lock lock(board_->world().mutex);
    if (next_ >= ThreadBoard::ring) {
      finish(lock, next_ - ThreadBoard::ring, deadline);
    }
    throw_if_failed(lock, slot(next_));
    call.tag.sequence = static_cast<std::uint32_t>(next_);
    put(call, post);
    std::uint64_t const sequence = next_++;
    do_ready_parts(lock); // so that peers need not wait for this rank's next wait
    return sequence;
  }

  void finish(std::uint64_t sequence) {
    Deadline const deadline(options_.deadline);
    Lock lock(board_->world().mutex);
    finish(lock, sequence, deadline);
  }

  [[nodiscard]] bool finished(std::uint64_t sequence) {
    Lock lock(board_->world().mutex);
    do_ready_parts(lock);
    if (!is_complete(sequence)) {
      throw_if_failed(lock, slot(sequence));
    }
    return is_complete(sequence);
  }

  void abort(std::string_view text) {
    Lock const lock(board_->world().mutex);
    board_->world().fail(wording_.gave_up(rank_, text));
  }

private:
  using Lock = std::unique_lock<std::mutex>;

  [[nodiscard]] ThreadSlot& slot(std::uint64_t sequence) { return board_->slot(sequence); }
  [[nodiscard]] bool is_complete(std::uint64_t sequence) { return slot(sequence).sequence > sequence; }

  void put(CollectiveCall const& call, ThreadPost const& post) {
    auto const me = static_cast<std::size_t>(rank_);
    ThreadSlot& here = slot(next_);
    here.calls[me] = call;
    here.posts[me] = post;
    here.has_posted[me] = 1;
    ++here.posted;
    if (!here.ready()) {
      return;
    }
    if (int const other = first_disagreement(here.calls); other != 0) {
      board_->world().fail(wording_.disagreement(here.calls, other));
    }
    here.changed.notify_all();
  }

  void finish(Lock& lock, std::uint64_t sequence, Deadline const& deadline) {
    while (!is_complete(sequence)) {
      throw_if_failed(lock, slot(sequence));
      std::uint64_t const part = parts_done_;
      if (part > sequence) {
        await(lock, slot(sequence), deadline, [&] { return is_complete(sequence); });
      } else if (inside_part_) { // another thread of this rank waits too
        ++watchers_;
        await(lock, slot(part), deadline, [&] { return parts_done_ != part; });
        --watchers_;
      } else if (slot(part).ready()) {
        do_part(lock);
      } else {
        await(lock, slot(part), deadline, [&] { return parts_done_ != part || slot(part).ready(); });
      }
    }
  }

  void do_ready_parts(Lock& lock) {
    while (!inside_part_ && parts_done_ < next_ && slot(parts_done_).ready() && !board_->world().failed) {
      do_part(lock);
    }
  }

  /// The copying and adding, without the lock.
  void do_part(Lock& lock) {
    auto const me = static_cast<std::size_t>(rank_);
    ThreadSlot& here = slot(parts_done_);
    ++here.reading;
    inside_part_ = true;
    lock.unlock();
    here.posts[me].part(here, rank_);
    lock.lock();
    inside_part_ = false;
    --here.reading;
    ++parts_done_;
    here.is_done[me] = 1;
    bool const last = ++here.done == board_->size();
    if (last) {
      here.pass_on(ThreadBoard::ring);
    }
    if (last || watchers_ != 0 || board_->world().failed) {
      here.changed.notify_all();
    }
  }

  /// Returns when `condition` holds, or the world has failed; passing the deadline is a failure.
  template <typename Condition>
  void await(Lock& lock, ThreadSlot& here, Deadline const& deadline, Condition condition) {
    auto const over = [&] { return board_->world().failed || condition(); };
    for (int turn = 0; board_->world().spins && turn < 100; ++turn) {
      if (over()) {
        return;
      }
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
    }
    if (!here.changed.wait_until(lock, deadline.end(), over)) {
      board_->world().fail(overdue(here, deadline));
    }
  }

  [[nodiscard]] std::string overdue(ThreadSlot const& here, Deadline const& deadline) const {
    std::vector<char> const& came = here.ready() ? here.is_done : here.has_posted;
    std::vector<int> missing;
    for (int other = 0; other < board_->size(); ++other) {
      if (came[static_cast<std::size_t>(other)] == 0) {
        missing.push_back(other);
      }
    }
    return wording_.overdue(rank_, missing, here.calls[static_cast<std::size_t>(rank_)], deadline.waited());
  }

  /// Throws only when nobody reads this rank's buffers any more: after a failure no part begins, and those that run
  /// end by themselves.
  void throw_if_failed(Lock& lock, ThreadSlot& here) {
    if (board_->world().failed) {
      here.changed.wait(lock, [&] { return here.reading == 0; });
      throw CommunicationError("{}", board_->world().failure);
    }
  }

  std::shared_ptr<ThreadBoard> board_;
  int rank_;
  comm::Options options_;
  CallWording wording_;
  std::uint64_t next_ = 0;       // the collective that starts next
  std::uint64_t parts_done_ = 0; // this rank's parts of all before it are done
  bool inside_part_ = false;
  int watchers_ = 0;
};

} // namespace cleave::detail
