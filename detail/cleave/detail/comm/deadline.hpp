#pragma once

#include <algorithm>
#include <chrono>

namespace cleave::detail {

/// When a wait that begins now must end.
class Deadline {
public:
  using Clock = std::chrono::steady_clock;

  // A century is forever, and does not overflow.
  explicit Deadline(std::chrono::milliseconds limit)
      : end_(begin_ + std::min<std::chrono::milliseconds>(limit, std::chrono::years{100})) {}

  [[nodiscard]] Clock::time_point end() const { return end_; }
  [[nodiscard]] bool passed() const { return Clock::now() >= end_; }
  [[nodiscard]] std::chrono::duration<double> waited() const { return Clock::now() - begin_; }

private:
  Clock::time_point begin_ = Clock::now();
  Clock::time_point end_;
};

} // namespace cleave::detail
