#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <cleave/comm/tag.hpp>
#include <cleave/core/error.hpp>

namespace cleave::detail {

/// What ranks compare: the tag, and the root of a broadcast.
struct CollectiveCall {
  static constexpr std::int64_t no_root = -1;
  static constexpr std::int64_t not_arrived = -2; // no rank ever sends it

  comm::Tag tag;
  std::int64_t root = no_root;

  friend constexpr bool operator==(CollectiveCall const&, CollectiveCall const&) = default;
};
static_assert(sizeof(CollectiveCall) == 24, "calls travel as bytes: no padding");

/// The call that collectives over elements of T make. Elements too large for the tag count as bytes.
template <typename T>
[[nodiscard]] constexpr CollectiveCall call_of(comm::Operation operation, std::uint16_t unit, std::size_t count) {
  constexpr bool fits = sizeof(T) <= 255;
  comm::Tag tag{.unit = unit, .operation = operation};
  tag.element_bytes = static_cast<std::uint8_t>(fits ? sizeof(T) : 1);
  tag.count = fits ? count : count * sizeof(T);
  return {.tag = tag};
}

/// The first rank that does something else than rank 0; 0 when all agree.
[[nodiscard]] inline int first_disagreement(std::span<CollectiveCall const> calls) {
  auto const other = std::ranges::find_if(calls, [&](auto const& call) { return call != calls.front(); });
  return other == calls.end() ? 0 : static_cast<int>(other - calls.begin());
}

/// 1024 as "1,024".
[[nodiscard]] inline std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (auto place = static_cast<std::ptrdiff_t>(text.size()) - 3; place > 0; place -= 3) {
    text.insert(static_cast<std::size_t>(place), 1, ',');
  }
  return text;
}

[[nodiscard]] constexpr std::string_view operation_name(comm::Operation operation) {
  switch (operation) {
  case comm::Operation::all_gather: return "all-gather";
  case comm::Operation::reduce_scatter: return "reduce-scatter";
  case comm::Operation::all_reduce: return "all-reduce";
  case comm::Operation::broadcast: return "broadcast";
  case comm::Operation::barrier: return "barrier";
  }
  return "unknown operation";
}

/// What went wrong, in words. Ranks are named as in the world, also inside a split of it.
class CallWording {
public:
  explicit CallWording(std::vector<int> world_ranks) : world_ranks_(std::move(world_ranks)) {}

  void name_units(std::vector<std::string> names) { units_ = std::move(names); }
  [[nodiscard]] std::vector<std::string> const& units() const { return units_; }
  [[nodiscard]] std::vector<int> const& world_ranks() const { return world_ranks_; }

  [[nodiscard]] std::string disagreement(std::span<CollectiveCall const> calls, int rank) const {
    CollectiveCall const& one = calls[static_cast<std::size_t>(rank)];
    return fmt::format("rank {} is in {}, rank {} in {}, collective {}. "
                       "Every rank must run the same model and the same calls.",
                       world_rank(rank), describe(one), world_rank(0), describe(calls[0]), calls[0].tag.sequence);
  }

  [[nodiscard]] std::string overdue(int rank, std::span<int const> missing, CollectiveCall const& call,
                                    std::chrono::duration<double> waited) const {
    return fmt::format("rank {} waited {:.3g} s for {} in {}, collective {}. "
                       "Find out what kept them, or raise comm::Options::deadline.",
                       world_rank(rank), waited.count(), list(missing), describe(call), call.tag.sequence);
  }

  [[nodiscard]] std::string gave_up(int rank, std::string_view text) const {
    return fmt::format("rank {} gave up: {}", world_rank(rank), text);
  }

private:
  [[nodiscard]] int world_rank(std::int64_t rank) const {
    auto const place = static_cast<std::size_t>(rank);
    return place < world_ranks_.size() ? world_ranks_[place] : static_cast<int>(rank);
  }

  [[nodiscard]] std::string describe(CollectiveCall const& call) const {
    std::string text{operation_name(call.tag.operation)};
    if (call.root >= 0) {
      text += fmt::format(" from rank {}", world_rank(call.root));
    }
    if (call.tag.unit < units_.size()) {
      text += fmt::format(" of unit '{}'", units_[call.tag.unit]);
    } else if (call.tag.unit != comm::no_unit) {
      text += fmt::format(" of unit {}", call.tag.unit);
    }
    if (call.tag.operation != comm::Operation::barrier) {
      text += fmt::format(" ({} x {} bytes)", grouped(call.tag.count), call.tag.element_bytes);
    }
    return text;
  }

  [[nodiscard]] std::string list(std::span<int const> ranks) const {
    constexpr std::size_t shown = 8;
    if (ranks.empty()) {
      return "the other ranks";
    }
    std::string text = ranks.size() == 1 ? "rank " : "ranks ";
    for (std::size_t i = 0; i < std::min(shown, ranks.size()); ++i) {
      text += fmt::format("{}{}", i == 0 ? "" : ", ", world_rank(ranks[i]));
    }
    return ranks.size() <= shown ? text : text + fmt::format(" and {} more", ranks.size() - shown);
  }

  std::vector<int> world_ranks_;
  std::vector<std::string> units_;
};

} // namespace cleave::detail
