#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include <cleave/core/tensor.hpp>
#include <cleave/device/cpu.hpp>
#include <cleave/device/device.hpp>

namespace cleave::testing {

/// The processor behaving as an accelerator would, to find missing events and buffers that are reused too early: every
/// stream is a thread of its own, which works off what it was given some time later, after random delays; memory holds
/// NaN until it is written.
///
/// What fails in a stream (or in one that it waits for) makes it skip all later work, and `synchronize` throw.
class AsyncCpu {
public:
  using policy_category = category::device;
  static constexpr bool poisons_released = true;

  class Event;
  class Memory;
  class Stream;
  template <typename Handle>
  class Transfer;

  /// Streams that are made from here on delay by this seed.
  static void seed(std::uint64_t value) { next_seed().store(value); }

private:
  class Queue;
  static std::atomic<std::uint64_t>& next_seed() {
    static std::atomic<std::uint64_t> value{0};
    return value;
  }
};

class AsyncCpu::Memory {
public:
  Memory() = default;
  explicit Memory(Index bytes) : memory_(bytes) {
    if (bytes > 0) {
      std::memset(memory_.data(), 0xff, static_cast<std::size_t>(bytes)); // NaN in every floating-point type
    }
  }
  [[nodiscard]] std::byte* data() const { return memory_.data(); }
  [[nodiscard]] Index size() const { return memory_.size(); }

private:
  device::Cpu::Memory memory_;
};

/// What a stream and its thread share: tasks in order, and how many are done.
class AsyncCpu::Queue {
public:
  using Task = std::function<void()>;
  using Ticket = std::uint64_t;

  void push(Task task) {
    std::lock_guard const lock(mutex_);
    tasks_.push_back(std::move(task));
    ++given_;
    changed_.notify_all();
  }
  void close() {
    std::lock_guard const lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  [[nodiscard]] Ticket last_ticket() const {
    std::lock_guard const lock(mutex_);
    return given_;
  }
  [[nodiscard]] bool passed(Ticket ticket) const {
    std::lock_guard const lock(mutex_);
    return done_ >= ticket;
  }
  /// Waits until the task is done or skipped; throws what made the stream fail.
  void wait_for(Ticket ticket) const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ >= ticket; });
    if (failure_ != nullptr) {
      std::rethrow_exception(failure_);
    }
  }
  /// What the thread does until the queue is closed and empty.
  void work(std::uint64_t seed) {
    std::mt19937_64 engine(seed);
    while (Task const task = next()) {
      delay(engine);
      finish_one(run(task));
    }
  }

private:
  [[nodiscard]] Task next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !tasks_.empty(); });
    if (tasks_.empty()) {
      return {};
    }
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    return task;
  }

  /// Only this thread sets failure_, so it may read it without the lock.
  [[nodiscard]] std::exception_ptr run(Task const& task) const {
    if (failure_ == nullptr) {
      try {
        task();
      } catch (...) {
        return std::current_exception();
      }
    }
    return failure_;
  }
  void finish_one(std::exception_ptr failure) {
    std::lock_guard const lock(mutex_);
    failure_ = std::move(failure);
    ++done_;
    changed_.notify_all();
  }

  /// Mostly not at all, sometimes a moment, now and then long enough for all other threads to run ahead.
  static void delay(std::mt19937_64& engine) {
    auto const dice = engine() % 64;
    if (dice < 4) {
      std::this_thread::sleep_for(std::chrono::microseconds(engine() % 200));
    } else if (dice < 20) {
      std::this_thread::yield();
    }
  }

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::deque<Task> tasks_;
  Ticket given_ = 0;
  Ticket done_ = 0;
  bool closed_ = false;
  std::exception_ptr failure_;
};

/// "When the stream has done this many tasks." By default, a point that is passed.
class AsyncCpu::Event {
public:
  Event() = default;
  [[nodiscard]] bool passed() const { return queue_ == nullptr || queue_->passed(ticket_); }
  void wait() const {
    if (queue_ != nullptr) {
      queue_->wait_for(ticket_);
    }
  }

private:
  friend class Stream;
  explicit Event(std::shared_ptr<Queue const> queue) : queue_(std::move(queue)), ticket_(queue_->last_ticket()) {}

  std::shared_ptr<Queue const> queue_;
  Queue::Ticket ticket_ = 0;
};

class AsyncCpu::Stream {
public:
  using Event = AsyncCpu::Event;

  explicit Stream(StreamOptions options = {})
      : cpu_(std::make_shared<device::Cpu::Stream>(options)), queue_(std::make_shared<Queue>()),
        thread_([queue = queue_, seed = next_seed().fetch_add(1)] { queue->work(seed); }) {}
  Stream(Stream&&) = default;
  Stream& operator=(Stream&&) = delete;
  ~Stream() {
    if (thread_.joinable()) {
      queue_->close();
      thread_.join();
    }
  }

  [[nodiscard]] static constexpr Index workspace_bytes(StreamOptions options) {
    return device::Cpu::Stream::workspace_bytes(options);
  }

  template <typename Operation, typename... Views>
  void run(Operation const& operation, Views... views) {
    queue_->push([cpu = cpu_, operation, views...] { cpu->run(operation, views...); });
  }
  void to_host(std::byte* to, std::byte const* from, Index bytes) {
    queue_->push([cpu = cpu_, to, from, bytes] { cpu->to_host(to, from, bytes); });
  }
  void from_host(std::byte* to, std::byte const* from, Index bytes) {
    queue_->push([cpu = cpu_, to, from, bytes] { cpu->from_host(to, from, bytes); });
  }

  [[nodiscard]] Event record() { return Event(queue_); }
  void wait(Event const& event) {
    queue_->push([event] { event.wait(); });
  }
  void synchronize() { record().wait(); }

  /// Runs the whole collective in the stream, in its order.
  template <typename F>
  [[nodiscard]] auto start(F f) {
    queue_->push([shared = std::make_shared<F>(std::move(f))] { (*shared)().wait(); });
    return Transfer<decltype(f())>(record());
  }

private:
  std::shared_ptr<device::Cpu::Stream> cpu_;
  std::shared_ptr<Queue> queue_;
  std::thread thread_;
};

template <typename Handle>
class AsyncCpu::Transfer {
public:
  Transfer() = default;
  explicit Transfer(Event event) : event_(std::move(event)) {}
  Transfer(Transfer&& other) noexcept : event_(std::exchange(other.event_, {})) {}
  Transfer& operator=(Transfer&& other) noexcept {
    event_ = std::exchange(other.event_, {});
    return *this;
  }

  void finish(Stream& consumer) { consumer.wait(std::exchange(event_, {})); }
  [[nodiscard]] bool test() const { return event_.passed(); }

private:
  Event event_;
};

static_assert(device_policy<AsyncCpu>);

} // namespace cleave::testing
