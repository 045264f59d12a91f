#include <cleave/device/device.hpp>

#include <utility>

#include <cleave/device/cpu.hpp>

#include <doctest/doctest.h>

namespace cleave::testing {
namespace {

struct CopyableMemory {
  explicit CopyableMemory(Index) {}
  [[nodiscard]] std::byte* data() const { return nullptr; }
  [[nodiscard]] Index size() const { return 0; }
};

struct WithoutCategory : device::Cpu {
  using policy_category = category::sharding;
};
struct WithCopyableMemory : device::Cpu {
  using Memory = CopyableMemory;
};
struct WithoutStream : device::Cpu {
  struct Stream {
    struct Event {};
  };
};

static_assert(device_policy<device::Cpu>);
static_assert(!device_policy<WithoutCategory>);
static_assert(!device_policy<WithCopyableMemory>);
static_assert(!device_policy<WithoutStream>);
static_assert(!device_policy<int>);
static_assert(device_memory<device::Cpu::Memory>);
static_assert(device_stream<device::Cpu::Stream>);

/// Fills memory of any device, and copies it to the host: what the concepts promise is enough to do so.
template <device_policy Device>
float filled(float value) {
  typename Device::Memory const memory(sizeof(float));
  typename Device::Stream stream(StreamOptions{});
  stream.run(op::Fill{value}, Vector<float>{reinterpret_cast<float*>(memory.data()), 1});
  typename Device::Stream other(StreamOptions{});
  other.wait(stream.record());
  float result = 0;
  other.to_host(reinterpret_cast<std::byte*>(&result), memory.data(), sizeof(float));
  other.synchronize();
  return result;
}

} // namespace

TEST_CASE("what the concepts promise is enough to compute with") { CHECK_EQ(filled<device::Cpu>(2.5F), 2.5F); }

} // namespace cleave::testing
