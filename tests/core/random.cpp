#include <cleave/core/random.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>

#include <doctest/doctest.h>

using namespace cleave;

// The known-answer vectors published with Random123.
static_assert(philox({0, 0, 0, 0}, 0) == std::array{0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U});
static_assert(philox({0xffffffffU, 0xffffffffU, 0xffffffffU, 0xffffffffU}, 0xffffffffffffffffU) ==
              std::array{0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU});
static_assert(philox({0x243f6a88U, 0x85a308d3U, 0x13198a2eU, 0x03707344U}, 0x299f31d0a4093822U) ==
              std::array{0xd16cfe09U, 0x94fdccebU, 0x5001e420U, 0x24126ea1U});

static_assert(uniform(0) > 0.0 && uniform(std::numeric_limits<std::uint32_t>::max()) < 1.0);
static_assert(uniform(0x80000000U) > 0.5 && uniform(0x7fffffffU) < 0.5);

TEST_CASE("keys derived from different numbers, names and parents differ") {
  std::set<std::uint64_t> keys;
  for (std::uint64_t parent = 0; parent != 20; ++parent) {
    for (std::uint64_t number = 0; number != 100; ++number) {
      keys.insert(derive_key(parent, number));
    }
    keys.insert(derive_key(parent, "h.0.mlp.c_fc.weight"));
    keys.insert(derive_key(parent, "h.1.mlp.c_fc.weight"));
    keys.insert(derive_key(parent, ""));
  }
  CHECK_EQ(keys.size(), 20 * 103);
}

TEST_CASE("words of consecutive counters have the mean and variance of a uniform variable") {
  constexpr int count = 1 << 16;
  double sum = 0;
  double squares = 0;
  for (std::uint32_t i = 0; i != count / 4; ++i) {
    for (auto const word : philox({i, 0, 0, 0}, 42)) {
      sum += uniform(word);
      squares += uniform(word) * uniform(word);
    }
  }
  double const mean = sum / count;
  CHECK_LT(std::abs(mean - 0.5), 0.005);                                  // 4.4 deviations
  CHECK_LT(std::abs(squares / count - mean * mean - 1.0 / 12.0), 0.0015); // 5 deviations
}
