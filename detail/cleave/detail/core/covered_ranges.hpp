#pragma once

#include <algorithm>
#include <iterator>
#include <map>

#include <cleave/core/tensor.hpp>

namespace cleave::detail {

/// Which parts of [0, size) have been added, in any order, overlaps allowed.
class CoveredRanges {
public:
  void add(Index begin, Index end) {
    if (begin == end) {
      return;
    }
    // Swallow every range that touches the new one.
    auto next = ends_.upper_bound(begin);
    if (next != ends_.begin() && std::prev(next)->second >= begin) {
      --next;
    }
    while (next != ends_.end() && next->first <= end) {
      begin = std::min(begin, next->first);
      end = std::max(end, next->second);
      next = ends_.erase(next);
    }
    ends_.emplace(begin, end);
  }

  /// The first position that is not covered.
  [[nodiscard]] Index first_gap() const {
    return ends_.empty() || ends_.begin()->first != 0 ? 0 : ends_.begin()->second;
  }

private:
  std::map<Index, Index> ends_; // begin -> end, apart from each other
};

} // namespace cleave::detail
