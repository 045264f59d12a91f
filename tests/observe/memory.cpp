#include <cleave/observe/memory.hpp> // first: the header stands alone

#include <cstddef>

#include <doctest/doctest.h>
#include <sys/mman.h>

using cleave::Index;
using cleave::observe::process_memory;

TEST_CASE("Memory that is touched shows as resident, and in the peak after it is given back") {
  constexpr Index size = Index{64} << 20;
  constexpr Index slack = Index{8} << 20; // the system counts in batches
  auto const before = process_memory();
  void* const first = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE_NE(first, MAP_FAILED);
  for (Index i = 0; i < size; i += 4096) {
    static_cast<char volatile*>(first)[i] = 1;
  }
  auto const during = process_memory();
  CHECK_GT(during.resident, before.resident + size - slack);
  REQUIRE_EQ(::munmap(first, size), 0);
  auto const after = process_memory();
  CHECK_LT(after.resident, during.resident - size + slack);
  CHECK_GE(after.peak_resident, before.resident + size - slack);
}
