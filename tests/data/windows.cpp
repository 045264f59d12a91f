#include <cleave/data/windows.hpp> // first: the header stands alone

#include <set>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace cleave;
using namespace cleave::data;

constexpr WindowPlan plan{.tokens = 105, .context = 10, .global_batch = 4};

static_assert(plan.whole_windows() == 10);
static_assert(WindowPlan{.tokens = 11, .context = 10, .global_batch = 1}.whole_windows() == 1);
static_assert(WindowPlan{.tokens = 10, .context = 10, .global_batch = 1}.whole_windows() == 0);
static_assert(SequentialWindows{}.steps(plan) == 2);
static_assert(EveryWindow{}.steps(plan) == 3);
static_assert(RandomWindows{}.steps(plan) < 0);

} // namespace

TEST_CASE("Random windows fit, reach both ends, and differ by seed, step and sequence") {
  constexpr Index starts = plan.tokens - plan.context; // the last start leaves one token for the last target
  std::vector<int> hits(starts);
  for (Index step = 0; step != 1000; ++step) {
    for (Index sequence = 0; sequence != plan.global_batch; ++sequence) {
      Index const start = RandomWindows{7}.start(plan, step, sequence);
      REQUIRE_GE(start, 0);
      REQUIRE_LT(start, starts);
      ++hits[static_cast<std::size_t>(start)];
    }
  }
  for (int count : hits) { // 42 each on average; 10 is five deviations off
    CHECK_GT(count, 10);
    CHECK_LT(count, 84);
  }
  constexpr WindowPlan large{.tokens = Index{1} << 40, .context = 10, .global_batch = 4};
  Index const start = RandomWindows{7}.start(large, 1, 1);
  CHECK_NE(start, RandomWindows{8}.start(large, 1, 1));
  CHECK_NE(start, RandomWindows{7}.start(large, 2, 1));
  CHECK_NE(start, RandomWindows{7}.start(large, 1, 2));
  CHECK_NE(start, RandomWindows{7}.start(large, 1 + (Index{1} << 32), 1));
}

TEST_CASE("Every window comes once, and then none") {
  Index expected = 0;
  for (Index step = 0; step != EveryWindow{}.steps(plan); ++step) {
    for (Index sequence = 0; sequence != plan.global_batch; ++sequence) {
      Index const start = EveryWindow{}.start(plan, step, sequence);
      CHECK_EQ(start, expected < 100 ? expected : no_window);
      expected += plan.context;
    }
  }
  CHECK_EQ(expected, 120);
}
