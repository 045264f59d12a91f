#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <cleave/comm/communicator.hpp>
#include <cleave/detail/comm/call.hpp>

namespace cleave::detail {

struct ThreadSlot;

/// What a rank brings to a collective: where its data lies, where the result goes, and how its own part is done.
struct ThreadPost {
  using Part = void (*)(ThreadSlot const& slot, int rank);

  void const* source = nullptr;
  void* target = nullptr;
  std::size_t size = 0; ///< bytes or elements of one slice, as `part` counts
  comm::Into into = comm::Into::overwrite;
  Part part = nullptr;
};

/// One collective in flight. It belongs to collective `sequence` until every rank has done its part, and then to the
/// one that comes a whole ring later.
struct ThreadSlot {
  std::uint64_t sequence = 0;
  int posted = 0;
  int done = 0;
  int reading = 0; ///< ranks that are inside their part, and so read all sources
  std::vector<ThreadPost> posts;
  std::vector<CollectiveCall> calls;
  std::vector<char> has_posted;
  std::vector<char> is_done;
  std::condition_variable changed;

  explicit ThreadSlot(std::size_t ranks) : posts(ranks), calls(ranks), has_posted(ranks), is_done(ranks) {}

  [[nodiscard]] bool ready() const { return posted == static_cast<int>(posts.size()); }

  void pass_on(std::size_t ring) {
    sequence += ring;
    posted = done = 0;
    std::ranges::fill(has_posted, char{0});
    std::ranges::fill(is_done, char{0});
  }
};

class ThreadBoard;

/// What all threads of one program share, splits included. One mutex guards it and every board: it is held for
/// bookkeeping only, never while data moves.
struct ThreadWorld {
  explicit ThreadWorld(int rank_count)
      : ranks(rank_count), spins(static_cast<unsigned>(rank_count) <= std::thread::hardware_concurrency()) {}

  std::mutex mutex;
  int const ranks;
  bool const spins; ///< every rank can have a core, so looking again is quicker than sleeping
  bool failed = false;
  std::string failure;
  std::vector<ThreadBoard*> boards;

  /// With the mutex held. The first text wins; everybody wakes up.
  void fail(std::string text);
};

/// Where the ranks of one communicator meet.
class ThreadBoard {
public:
  static constexpr std::size_t ring = 32;

  ThreadBoard(std::shared_ptr<ThreadWorld> world, std::vector<int> world_ranks)
      : world_(std::move(world)), world_ranks_(std::move(world_ranks)), parts_(world_ranks_.size()) {
    for (std::size_t i = 0; i < ring; ++i) {
      slots_.push_back(std::make_unique<ThreadSlot>(world_ranks_.size()));
      slots_.back()->sequence = i;
    }
    std::scoped_lock const lock(world_->mutex);
    world_->boards.push_back(this);
  }
  ThreadBoard(ThreadBoard const&) = delete;
  ThreadBoard& operator=(ThreadBoard const&) = delete;
  ~ThreadBoard() {
    std::scoped_lock const lock(world_->mutex);
    std::erase(world_->boards, this);
  }

  /// The board of a whole new world.
  [[nodiscard]] static std::shared_ptr<ThreadBoard> of_world(int ranks) {
    std::vector<int> numbers(static_cast<std::size_t>(ranks));
    std::iota(numbers.begin(), numbers.end(), 0);
    return std::make_shared<ThreadBoard>(std::make_shared<ThreadWorld>(ranks), std::move(numbers));
  }

  [[nodiscard]] ThreadWorld& world() { return *world_; }
  [[nodiscard]] std::shared_ptr<ThreadWorld> shared_world() { return world_; }
  [[nodiscard]] std::vector<int> const& world_ranks() const { return world_ranks_; }
  [[nodiscard]] int size() const { return static_cast<int>(world_ranks_.size()); }
  [[nodiscard]] ThreadSlot& slot(std::uint64_t sequence) { return *slots_[sequence % ring]; }

  /// Where the first rank of a part leaves that part's board for the others. Here, because a rank that fails in between
  /// takes its own stack away. Ranks meet between writing and reading.
  [[nodiscard]] std::shared_ptr<ThreadBoard>& part_of(int rank) { return parts_[static_cast<std::size_t>(rank)]; }

  void wake_everybody() {
    for (auto const& slot : slots_) {
      slot->changed.notify_all();
    }
  }

private:
  std::shared_ptr<ThreadWorld> world_;
  std::vector<int> world_ranks_;
  std::vector<std::shared_ptr<ThreadBoard>> parts_;
  std::vector<std::unique_ptr<ThreadSlot>> slots_;
};

inline void ThreadWorld::fail(std::string text) {
  if (!std::exchange(failed, true)) {
    failure = std::move(text);
    for (ThreadBoard* const board : boards) {
      board->wake_everybody();
    }
  }
}

} // namespace cleave::detail
