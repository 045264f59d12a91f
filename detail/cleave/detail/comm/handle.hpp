#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace cleave::detail {

/// One collective in flight: its number, and the rank's end of the communicator, kept alive. A Channel has
/// finish(sequence), which blocks, and finished(sequence), which does not; both throw CommunicationError.
template <typename Channel>
class [[nodiscard]] CollectiveHandle {
public:
  CollectiveHandle() = default;
  CollectiveHandle(std::shared_ptr<Channel> channel, std::uint64_t sequence) noexcept
      : channel_(std::move(channel)), sequence_(sequence) {}

  CollectiveHandle(CollectiveHandle&&) noexcept = default;
  CollectiveHandle& operator=(CollectiveHandle&& other) noexcept {
    std::swap(channel_, other.channel_); // the other's destructor waits for ours
    std::swap(sequence_, other.sequence_);
    return *this;
  }

  ~CollectiveHandle() {
    try {
      wait();
    } catch (...) { // errors cannot leave a destructor; whoever calls next gets this one
    }
  }

  void wait() {
    if (auto const channel = std::exchange(channel_, nullptr)) {
      channel->finish(sequence_);
    }
  }

  [[nodiscard]] bool test() {
    if (channel_ != nullptr && channel_->finished(sequence_)) {
      channel_.reset();
    }
    return channel_ == nullptr;
  }

private:
  std::shared_ptr<Channel> channel_;
  std::uint64_t sequence_ = 0;
};

} // namespace cleave::detail
