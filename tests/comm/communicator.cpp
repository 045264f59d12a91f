#include <cleave/comm/communicator.hpp>

#include <doctest/doctest.h>

#include <concepts>
#include <utility>

#include <cleave/comm/self.hpp>

using namespace cleave;

namespace {

struct CopyableHandle {
  void wait() {}
  bool test() { return true; }
};

struct SilentHandle { // cannot be waited for
  SilentHandle(SilentHandle&&) = default;
  SilentHandle& operator=(SilentHandle&&) = default;
  bool test() { return true; }
};

struct GathersOnly {
  using policy_category = category::communicator;
  template <typename T>
  comm::Self::Handle all_gather(std::uint16_t, std::span<T const>, std::span<T>);
};

struct OfNoCategory : comm::Self {
  using policy_category = category::device;
};

} // namespace

static_assert(collective_handle<comm::Self::Handle>);
static_assert(!collective_handle<CopyableHandle>, "two owners would wait twice");
static_assert(!collective_handle<SilentHandle>);
static_assert(has_all_gather<GathersOnly, float>);
static_assert(!has_reduce_scatter<GathersOnly, float, float>);
static_assert(!communicator<GathersOnly>);
static_assert(!communicator<OfNoCategory>);
static_assert(communicator<comm::Self> && std::movable<comm::Self> && !std::copyable<comm::Self>);

TEST_CASE("a rank waits for minutes before it gives up, unless told otherwise") {
  CHECK_EQ(comm::Options{}.deadline, std::chrono::minutes{5});
}
