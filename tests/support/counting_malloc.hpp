#pragma once

// Counts what the program allocates. Defines malloc, so include it in one file of a program only.

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace cleave::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool counts_allocations = false; // a sanitizer brings its own malloc
#define CLEAVE_TEST_COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool counts_allocations = false;
#define CLEAVE_TEST_COUNTS_ALLOCATIONS 0
#endif
#endif
#if !defined(CLEAVE_TEST_COUNTS_ALLOCATIONS)
inline constexpr bool counts_allocations = true;
#define CLEAVE_TEST_COUNTS_ALLOCATIONS 1
#endif

inline std::atomic<std::int64_t> allocation_count{0};

/// How many allocations all threads made while `run` ran.
template <typename Run>
[[nodiscard]] std::int64_t allocations_of(Run const& run) {
  std::int64_t const before = allocation_count.load();
  run();
  return allocation_count.load() - before;
}

} // namespace cleave::testing

#if CLEAVE_TEST_COUNTS_ALLOCATIONS
extern "C" {
// glibc's own, under the names that replacements of malloc are meant to call.
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) {
  ++cleave::testing::allocation_count;
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  ++cleave::testing::allocation_count;
  return __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) {
  ++cleave::testing::allocation_count;
  return __libc_realloc(memory, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  ++cleave::testing::allocation_count;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  ++cleave::testing::allocation_count;
  *memory = __libc_memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
}
#endif
