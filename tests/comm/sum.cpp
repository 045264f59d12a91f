#include <cleave/comm/sum.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

using namespace cleave;

static_assert(comm::summable<float, float> && comm::summable<std::int64_t, std::int64_t>);
static_assert(comm::summable<bfloat16, float>);
static_assert(!comm::summable<bfloat16, bfloat16>, "a sum in 16 bits loses what it adds");
static_assert(!comm::summable<double, float>);

TEST_CASE("the ranks' sum is formed before it is added") {
  // In double, 1 + (1e16 - 1e16) is 1, while (1 + 1e16) - 1e16 is 0.
  std::vector<double> const slices{1e16, -1e16};
  std::vector<double> mine{1};
  comm::add_in_rank_order<double>(2, [&](int rank) { return &slices[static_cast<std::size_t>(rank)]; },
                                  std::span(mine), comm::Into::add);
  CHECK_EQ(mine[0], 1.0);
}

TEST_CASE("ranks are added first to last") {
  std::vector<double> const slices{1, 1e16, -1e16};
  std::vector<double> mine{7};
  comm::add_in_rank_order<double>(3, [&](int rank) { return &slices[static_cast<std::size_t>(rank)]; },
                                  std::span(mine), comm::Into::overwrite);
  CHECK_EQ(mine[0], 0.0);
}

TEST_CASE("a result may replace a slice") {
  std::vector<std::uint64_t> slices(3 * 5000, 1);
  std::span const mine = std::span(slices).subspan(5000, 5000);
  comm::add_in_rank_order<std::uint64_t>(3, [&](int rank) { return slices.data() + rank * 5000; }, mine,
                                         comm::Into::overwrite);
  CHECK(std::ranges::count(mine, 3U) == 5000);
}
