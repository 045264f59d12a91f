#include "async_cpu.hpp"

#include <cmath>
#include <mutex>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "error_text.hpp"
#include "tensors.hpp"

namespace cleave::testing {
namespace {

/// A stand-in for a collective: writes 1 when waited for.
class Delivery {
public:
  Delivery(float* to, bool fails) : to_(to), fails_(fails) {}
  Delivery(Delivery&&) = default;
  Delivery& operator=(Delivery&&) = default;

  void wait() {
    if (fails_) {
      throw CommunicationError("rank 3 gave up");
    }
    *to_ = 1;
  }
  bool test() { return false; }

private:
  float* to_;
  bool fails_;
};

template <typename Memory>
Matrix<float> matrix(Memory const& memory, Index rows, Index columns) {
  return {reinterpret_cast<float*>(memory.data()), rows, columns};
}

/// Two streams hand a buffer back and forth: one writes it, the other adds it up and gives it free. Without the events,
/// sums would miss writes or count them twice.
template <typename Device>
std::vector<float> ping_pong(int rounds) {
  typename Device::Memory buffer(4 * 64);
  typename Device::Memory sum(4 * 64);
  typename Device::Stream writer;
  typename Device::Stream reader;
  auto const b = matrix(buffer, 1, 64);
  auto const s = matrix(sum, 1, 64);
  reader.run(op::Fill{0}, s.row(0));
  typename Device::Stream::Event free;
  for (int i = 0; i != rounds; ++i) {
    writer.wait(free);
    writer.run(op::Initialise{static_cast<std::uint64_t>(i), 0, 1, 1.0}, b.row(0));
    reader.wait(writer.record());
    reader.run(op::Add{}, s, s, b);
    free = reader.record();
  }
  std::vector<float> result(64);
  reader.to_host(reinterpret_cast<std::byte*>(result.data()), sum.data(), 4 * 64);
  reader.synchronize();
  return result;
}

} // namespace

TEST_CASE("events order the work of two streams, whatever the delays") {
  auto const expected = ping_pong<device::Cpu>(40);
  for (std::uint64_t seed = 0; seed != 20; ++seed) {
    AsyncCpu::seed(1000 * seed);
    CHECK(ping_pong<AsyncCpu>(40) == expected);
  }
}

TEST_CASE("a missing event shows") {
  int wrong = 0;
  for (std::uint64_t seed = 0; seed != 200 && wrong == 0; ++seed) {
    AsyncCpu::seed(1000 * seed);
    AsyncCpu::Memory const memory(4);
    auto const value = matrix(memory, 1, 1);
    AsyncCpu::Stream writer;
    AsyncCpu::Stream reader;
    // The lock makes this no data race, but says nothing about who comes first.
    std::mutex mutex;
    float seen = 0;
    auto locked = [&](auto action) {
      return [&mutex, action] {
        std::lock_guard const lock(mutex);
        action();
        struct Done {
          void wait() {}
        };
        return Done{};
      };
    };
    (void)writer.start(locked([&] { *value.data = 5; }));
    (void)reader.start(locked([&] { seen = *value.data; }));
    writer.synchronize();
    reader.synchronize();
    wrong += seen != 5 ? 1 : 0;
  }
  CHECK_EQ(wrong, 1);
}

TEST_CASE("memory is NaN until it is written") {
  AsyncCpu::Memory const memory(4096);
  AsyncCpu::Stream stream;
  auto const x = matrix(memory, 1, 1024);
  stream.run(op::Fill{1}, x.row(0).slice(100, 5));
  stream.synchronize();
  for (Index i = 0; i != 1024; ++i) {
    CHECK_EQ(std::isnan(x.data[i]), i < 100 || i >= 105);
  }
}

TEST_CASE("a transfer is finished for the stream that waits for it") {
  for (std::uint64_t seed = 0; seed != 20; ++seed) {
    AsyncCpu::seed(1000 * seed);
    AsyncCpu::Memory const memory(8);
    auto const x = matrix(memory, 1, 1);
    Matrix<float> const y{x.data + 1, 1, 1};
    AsyncCpu::Stream exchange;
    AsyncCpu::Stream compute;
    auto transfer = exchange.start([=] { return Delivery(x.data, false); });
    transfer.finish(compute);
    compute.run(op::Add{}, y, x, x);
    compute.synchronize();
    CHECK_EQ(*y.data, 2.0F);
    CHECK(transfer.test());
    AsyncCpu::Transfer<Delivery> nothing;
    CHECK(nothing.test());
    nothing.finish(compute);
    compute.synchronize();
  }
}

TEST_CASE("what fails in a stream is thrown by it and by those that wait for it, and nothing hangs") {
  AsyncCpu::Memory const memory(8);
  auto const x = matrix(memory, 1, 1);
  AsyncCpu::Stream exchange;
  AsyncCpu::Stream compute;
  AsyncCpu::Stream other;
  exchange.run(op::Fill{3}, x.row(0));
  auto transfer = exchange.start([=] { return Delivery(x.data, true); });
  exchange.run(op::Fill{4}, x.row(0));
  transfer.finish(compute);
  Matrix<float> const y{x.data + 1, 1, 1};
  compute.run(op::Copy{}, y, x);
  CHECK(contains(error_text<CommunicationError>([&] { compute.synchronize(); }), "rank 3 gave up"));
  CHECK(contains(error_text<CommunicationError>([&] { exchange.synchronize(); }), "rank 3 gave up"));
  CHECK_EQ(*x.data, 3.0F);    // later work is skipped
  CHECK(std::isnan(*y.data)); // and that which waited for it
  CHECK_NOTHROW(other.synchronize());
}

TEST_CASE("an operation keeps its views and settings by value") {
  std::mt19937 engine(71);
  auto const a = random_tensor<float>(engine, 30, 20);
  auto const b = random_tensor<float>(engine, 20, 40);
  Tensor<float> now(30, 40);
  Tensor<float> later(30, 40);
  device::Cpu::Stream cpu;
  cpu.run(op::MatMul{}, now.view(), a.view(), b.view(), Vector<float const>{});
  AsyncCpu::Stream stream;
  {
    op::MatMul op;
    Matrix<float> c = later.view();
    stream.run(op, c, a.view(), b.view(), Vector<float const>{});
    op.transpose_a = true;
    c = {};
  }
  stream.synchronize();
  CHECK(now.storage() == later.storage());
}

} // namespace cleave::testing
