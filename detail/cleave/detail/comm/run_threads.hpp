#pragma once

#include <exception>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

namespace cleave::detail {

/// Calls f(rank) in a thread for each rank. Whatever ends a rank is passed to tell(rank, text), and the first of them
/// is thrown again when all have ended.
template <typename F, typename Tell>
void run_threads(int ranks, F f, Tell tell) {
  std::mutex mutex;
  std::exception_ptr first;
  // The exception is kept before the others are told, so that what they throw in turn comes later.
  auto const fail = [&](int rank, std::string_view text) {
    {
      std::scoped_lock const lock(mutex);
      first = first == nullptr ? std::current_exception() : first;
    }
    tell(rank, text);
  };
  auto const guarded = [&](int rank, auto const& body) {
    try {
      body();
    } catch (std::exception const& error) {
      fail(rank, error.what());
    } catch (...) {
      fail(rank, "an exception that is no std::exception.");
    }
  };
  {
    std::vector<std::jthread> threads;
    guarded(0, [&] {
      for (int rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank] { guarded(rank, [&] { f(rank); }); });
      }
    });
  }
  if (first != nullptr) {
    std::rethrow_exception(first);
  }
}

} // namespace cleave::detail
