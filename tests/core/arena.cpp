#include <cleave/core/arena.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

using namespace cleave;

namespace {

// Any code that cuts views: what is planned and what is used must agree for all of it.
constexpr void cut_some(Arena& arena, Index size) {
  auto const start = arena.mark();
  static_cast<void>(arena.vector<float>(size));
  auto const inner = arena.mark();
  static_cast<void>(arena.matrix<double>(size, 3));
  arena.release(inner);
  static_cast<void>(arena.vector<std::uint16_t>(2 * size));
  arena.release(start);
}

constexpr Index planned(Index size) {
  Arena plan;
  cut_some(plan, size);
  return plan.high_water();
}

} // namespace

static_assert(round_up(0, 64) == 0 && round_up(1, 64) == 64 && round_up(64, 64) == 64 && round_up(65, 64) == 128);
static_assert(planned(16) == 64 + 16 * 3 * 8, "the high water is reached inside, not at the end");

TEST_CASE("an arena with memory needs exactly what one without memory has counted") {
  for (Index size = 0; size != 200; ++size) {
    std::vector<std::byte> memory(static_cast<std::size_t>(planned(size)));
    Arena arena(memory.data(), planned(size));
    cut_some(arena, size);
    CHECK_EQ(arena.high_water(), arena.capacity());
    CHECK_EQ(arena.mark(), 0);
  }
}

TEST_CASE("views are aligned, in order, and do not overlap") {
  alignas(alignment_bytes) std::byte memory[64 * 64];
  Arena arena(memory, sizeof(memory));
  std::byte* end = memory;
  for (Index size = 1; size != 20; ++size) {
    auto const view = arena.vector<float>(size);
    auto* const first = reinterpret_cast<std::byte*>(view.data);
    CHECK_EQ(reinterpret_cast<std::uintptr_t>(first) % alignment_bytes, 0);
    CHECK_GE(first, end);
    end = first + size * 4;
  }
  CHECK_LE(end, memory + sizeof(memory));
}

TEST_CASE("released memory is cut again") {
  alignas(alignment_bytes) std::byte memory[256];
  Arena arena(memory, sizeof(memory));
  auto const mark = arena.mark();
  auto const first = arena.vector<double>(30);
  arena.release(mark);
  CHECK_EQ(arena.matrix<double>(5, 6).data, first.data);
}

TEST_CASE("an arena without memory hands out null views of the right shape") {
  Arena plan;
  auto const view = plan.matrix<float>(7, 9);
  CHECK_EQ(view.data, nullptr);
  CHECK_EQ(view.rows, 7);
  CHECK_EQ(view.columns, 9);
  CHECK_EQ(plan.mark(), 256);
}
