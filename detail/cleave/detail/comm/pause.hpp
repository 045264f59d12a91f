#pragma once

#include <chrono>
#include <thread>

namespace cleave::detail {

/// Between two looks at a request: gives the core away, and after a while sleeps, so that ranks that share a core all
/// go on.
class Pause {
public:
  void operator()() {
    constexpr int yields = 2000; // about a millisecond on an idle core
    if (++turn_ < yields) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds{turn_ < 2 * yields ? 20 : 200});
    }
  }

private:
  int turn_ = 0;
};

} // namespace cleave::detail
