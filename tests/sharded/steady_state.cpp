// A training step in steady state allocates nothing. Every allocator of the C library is counted in this executable,
// unless a sanitizer has taken them: it watches the same steps.
#include <cleave/sharded/sharded_module.hpp>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cleave/layers/mean_squared_error.hpp>
#include <doctest/doctest.h>

#include "support/training.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define COUNTS_ALLOCATIONS 0
#endif
#endif
#if !defined(COUNTS_ALLOCATIONS) && defined(__GLIBC__)
#define COUNTS_ALLOCATIONS 1
#endif

namespace {
std::atomic<bool> counting{false};
std::atomic<long> allocations{0};

[[maybe_unused]] void count() {
  if (counting.load(std::memory_order_relaxed)) {
    allocations.fetch_add(1, std::memory_order_relaxed);
  }
}
} // namespace

#if COUNTS_ALLOCATIONS
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) noexcept {
  count();
  return __libc_malloc(size);
}
void* calloc(std::size_t number, std::size_t size) noexcept {
  count();
  return __libc_calloc(number, size);
}
void* realloc(void* old, std::size_t size) noexcept {
  count();
  return __libc_realloc(old, size);
}
void* memalign(std::size_t alignment, std::size_t size) noexcept {
  count();
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  count();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** result, std::size_t alignment, std::size_t size) noexcept {
  count();
  *result = __libc_memalign(alignment, size);
  return *result == nullptr ? 12 : 0; // ENOMEM
}
void* mmap(void* where, std::size_t size, int protection, int flags, int file, off_t offset) noexcept {
  count();
  return reinterpret_cast<void*>(syscall(SYS_mmap, where, size, protection, flags, file, offset));
}
}
#endif

using namespace cleave;
using namespace cleave::testing;

namespace {

/// Allocations of all ranks in three steps (two micro-batches, clipping, AdamW), after two that warm up.
template <typename Model>
long allocations_of_steps(Data const& data, Index batch, int ranks, int threads) {
  comm::Threads::run(ranks, [&](comm::Threads& world) {
    Model model(world, {.batch = batch, .sequence = data.sequence, .threads = threads});
    optim::AdamW adam(model);
    auto const rows = rows_of<Model>(data, world.rank(), batch);
    for (int step = 0; step != 5; ++step) {
      if (step == 2) {
        world.barrier();
        allocations = 0;
        world.barrier();
        counting = true;
      }
      model.backward(model.loss(rows.input, rows.targets));
      model.backward(model.loss(rows.input, rows.targets));
      optim::clip_gradient_norm(model, 0.1);
      adam.step();
    }
    world.barrier();
    counting = false;
    world.barrier(); // ranks end, and throw nothing away, once all have stopped
  });
  return allocations;
}

template <typename... Args>
long with_gpt(int ranks = 2) {
  return allocations_of_steps<ShardedModule<TinyGpt, comm::Threads, Args...>>(tiny_text, 2, ranks, 1);
}

using Half = precision::Mixed<bfloat16>;
/// Large enough for operations to be shared among threads.
using Wide = ShardedModule<Linear<200, 300>, Gelu, Linear<300, 100>, MeanSquaredError<100>, comm::Threads>;

} // namespace

TEST_CASE("control: allocations of every kind, in every thread, are counted") {
#if COUNTS_ALLOCATIONS
  auto const counted = [](auto allocate) {
    allocations = 0;
    counting = true;
    allocate();
    counting = false;
    return allocations.load();
  };
  static void* volatile seen; // what is looked at is not optimised away
  auto const look = [](void* memory) {
    seen = memory;
    return seen;
  };
  CHECK(counted([&] {
          std::vector<int> values(100);
          look(values.data());
        }) >= 1);
  CHECK(counted([&] { std::free(look(std::malloc(10))); }) >= 1);
  CHECK(counted([&] { std::free(look(std::calloc(10, 10))); }) >= 1);
  CHECK(counted([&] { std::free(look(std::aligned_alloc(64, 640))); }) >= 1);
  CHECK(counted([&] { look(device::Cpu::Memory(1000).data()); }) >= 1);
  CHECK(counted([&] { std::thread([&] { look(std::make_unique<int>(3).get()); }).join(); }) >= 2);
  CHECK(counted([&] {
          void* const page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
          munmap(page, 4096);
        }) >= 1);
  CHECK_EQ(counted([] {}), 0);
#endif
}

TEST_CASE("a training step in steady state allocates nothing on any rank") {
  CHECK_EQ(with_gpt<>(), 0);
  CHECK_EQ(with_gpt<sharding::GradientsAndOptimizer>(), 0);
  CHECK_EQ(with_gpt<sharding::OptimizerOnly>(), 0);
  CHECK_EQ(with_gpt<sharding::None>(), 0);
  CHECK_EQ(with_gpt<recompute::All>(3), 0);
}

TEST_CASE("nor does one with a bfloat16 wire") {
  CHECK_EQ(with_gpt<Half>(), 0);
  CHECK_EQ(with_gpt<Half, sharding::GradientsAndOptimizer>(), 0);
  CHECK_EQ(with_gpt<Half, sharding::OptimizerOnly>(), 0);
  CHECK_EQ(with_gpt<Half, sharding::None>(), 0);
}

TEST_CASE("nor does one with several threads a rank") {
  constexpr Data features{.inputs = 200, .outputs = 100};
  CHECK_EQ(allocations_of_steps<Wide>(features, 300, 1, 2), 0);
  CHECK_EQ(allocations_of_steps<Wide>(features, 300, 2, 3), 0);
}
