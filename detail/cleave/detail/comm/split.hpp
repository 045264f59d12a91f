#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include <cleave/detail/comm/check.hpp>

namespace cleave::detail {

/// What a rank asks of a split.
struct SplitChoice {
  int color = 0;
  int key = 0;
};

/// The ranks that chose the color of `rank`, ordered by (key, rank). Every rank throws when any rank's color is
/// negative.
[[nodiscard]] inline std::vector<int> split_group(std::span<SplitChoice const> choices, int rank) {
  auto const of = [&](int member) { return choices[static_cast<std::size_t>(member)]; };
  std::vector<int> group;
  for (int other = 0; other < static_cast<int>(choices.size()); ++other) {
    check_color(of(other).color, other);
    if (of(other).color == of(rank).color) {
      group.push_back(other);
    }
  }
  std::ranges::sort(group, {}, [&](int member) { return std::pair{of(member).key, member}; });
  return group;
}

} // namespace cleave::detail
