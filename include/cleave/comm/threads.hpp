#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <cleave/comm/communicator.hpp>
#include <cleave/comm/sum.hpp>
#include <cleave/core/error.hpp>
#include <cleave/core/scalar.hpp>
#include <cleave/core/tensor.hpp>
#include <cleave/detail/comm/check.hpp>
#include <cleave/detail/comm/handle.hpp>
#include <cleave/detail/comm/run_threads.hpp>
#include <cleave/detail/comm/split.hpp>
#include <cleave/detail/comm/thread_board.hpp>
#include <cleave/detail/comm/thread_member.hpp>
#include <cleave/detail/comm/thread_parts.hpp>

namespace cleave::comm {

/// Ranks that are threads of one process. Data goes straight from buffer to buffer: no staging, no scratch.
///
/// Handles may be waited for in any order, and in another thread than the one that starts collectives. At least 16
/// collectives can be in flight. One failure, wherever it happens, fails the world and all its splits.
class Threads {
public:
  using policy_category = category::communicator;
  using Handle = detail::CollectiveHandle<detail::ThreadMember>;

  /// Calls f(Threads& world) in `ranks` new threads and returns when all have ended. What the first failing rank threw
  /// is thrown again here, after all others were told its text.
  template <typename F>
    requires std::is_invocable_v<F&, Threads&>
  static void run(int ranks, F f, Options options = {}) {
    if (ranks < 1) {
      throw InvalidArgument("Threads::run: asked for {} ranks, expected 1 or more.", ranks);
    }
    auto const board = detail::ThreadBoard::of_world(ranks);
    detail::run_threads(
        ranks,
        [&](int rank) {
          Threads world(board, rank, options);
          f(world);
        },
        [&](int rank, std::string_view text) { Threads(board, rank, options).abort(text); });
  }

  Threads(Threads&&) noexcept = default;
  Threads& operator=(Threads&&) noexcept = default;

  [[nodiscard]] int rank() const { return member_->rank(); }
  [[nodiscard]] int size() const { return std::as_const(*member_).board().size(); }
  [[nodiscard]] int ranks_on_node() const { return member_->board().world().ranks; }

  /// `all` becomes every rank's `mine`, one after the other; see communicator.hpp.
  template <typename T>
    requires std::is_trivially_copyable_v<T>
  [[nodiscard]] Handle all_gather(std::uint16_t unit, std::span<T const> mine, std::span<T> all) {
    detail::check_slices("all_gather", all.size(), mine.size(), size());
    return start(detail::call_of<T>(Operation::all_gather, unit, mine.size()),
                 {.source = mine.data(), .target = all.data(), .size = mine.size_bytes(), .part = detail::gather_part});
  }

  /// `mine` becomes, or has added to it, the sum of every rank's slice of `all` for this rank; see communicator.hpp.
  template <typename Wire, typename Sum>
    requires summable<Wire, Sum>
  [[nodiscard]] Handle reduce_scatter(std::uint16_t unit, std::span<Wire const> all, std::span<Sum> mine,
                                      std::span<std::byte> /*scratch*/, Into into) {
    detail::check_slices("reduce_scatter", all.size(), mine.size(), size());
    return start(detail::call_of<Wire>(Operation::reduce_scatter, unit, all.size()),
                 {.source = all.data(),
                  .target = mine.data(),
                  .size = mine.size(),
                  .into = into,
                  .part = detail::reduce_part<Wire, Sum>});
  }

  template <typename Wire>
  [[nodiscard]] static constexpr Index reduce_scratch_bytes(Index, int) {
    return 0;
  }

  /// Adds up `values` over the ranks, in rank order. Blocking.
  template <typename T>
    requires summable<T, T>
  void all_reduce(std::uint16_t unit, std::span<T> values) {
    auto const call = detail::call_of<T>(Operation::all_reduce, unit, values.size());
    std::array<T, 256> copy; // peers read the copy while the sum replaces the values
    std::size_t first = 0;
    do {
      auto const piece = values.subspan(first, std::min(copy.size(), values.size() - first));
      std::ranges::copy(piece, copy.begin());
      start(call, {.source = copy.data(), .target = piece.data(), .size = piece.size(), .part = detail::sum_part<T>})
          .wait();
      first += piece.size();
    } while (first < values.size());
  }

  /// `values` of rank `root` replace everybody's. Blocking.
  template <typename T>
    requires std::is_trivially_copyable_v<T>
  void broadcast(std::uint16_t unit, std::span<T> values, int root) {
    detail::check_root(root, size());
    auto call = detail::call_of<T>(Operation::broadcast, unit, values.size());
    call.root = root;
    start(call, {.source = values.data(),
                 .target = values.data(),
                 .size = values.size_bytes(),
                 .part = detail::broadcast_part})
        .wait();
  }

  /// Returns when every rank has called it.
  void barrier() {
    start(detail::call_of<std::byte>(Operation::barrier, no_unit, 0), {.part = detail::barrier_part}).wait();
  }

  /// The ranks with the same color, ordered by (key, rank). Every rank must call it.
  [[nodiscard]] Threads split(int color, int key);

  /// Gives up: every wait of every other rank throws `text`, after this rank's name.
  void abort(std::string_view text) noexcept {
    try {
      member_->abort(text);
    } catch (...) { // no memory for the text: the deadline will tell the others
    }
  }

  void name_units(std::vector<std::string> names) { member_->wording().name_units(std::move(names)); }

  /// After a failure: whether this rank reports it for all.
  [[nodiscard]] bool speaks_for_all() noexcept { return rank() == 0; }

private:
  Threads(std::shared_ptr<detail::ThreadBoard> board, int rank, Options options)
      : member_(std::make_shared<detail::ThreadMember>(std::move(board), rank, options)) {}

  [[nodiscard]] Handle start(detail::CollectiveCall const& call, detail::ThreadPost const& post) {
    return {member_, member_->start(call, post)};
  }

  std::shared_ptr<detail::ThreadMember> member_;
};

inline Threads Threads::split(int color, int key) {
  std::vector<detail::SplitChoice> choices(static_cast<std::size_t>(size()));
  detail::SplitChoice const mine{color, key};
  all_gather(no_unit, std::span{&mine, 1}, std::span{choices}).wait();
  std::vector<int> const group = detail::split_group(choices, rank());

  // The first rank of the group makes the board; the others copy the pointer before it goes on.
  detail::ThreadBoard& whole = member_->board();
  if (group.front() == rank()) {
    std::vector<int> world_ranks;
    std::ranges::transform(group, std::back_inserter(world_ranks),
                           [&](int member) { return whole.world_ranks()[static_cast<std::size_t>(member)]; });
    whole.part_of(rank()) = std::make_shared<detail::ThreadBoard>(whole.shared_world(), std::move(world_ranks));
  }
  barrier();
  auto const shared = whole.part_of(group.front());
  barrier();
  whole.part_of(rank()).reset();

  auto const place = std::ranges::find(group, rank()) - group.begin();
  Threads part(shared, static_cast<int>(place), member_->options());
  part.name_units(member_->wording().units());
  return part;
}

static_assert(communicator<Threads>);
static_assert(has_reduce_scatter<Threads, double, double> && has_reduce_scatter<Threads, bfloat16, float>);

} // namespace cleave::comm
