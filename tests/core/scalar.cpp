#include <cleave/core/scalar.hpp>

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

#include <doctest/doctest.h>

using namespace cleave;

static_assert(scalar<float> && scalar<double> && scalar<bfloat16>);
static_assert(!scalar<int> && !scalar<long double> && !scalar<float const>);
static_assert(std::same_as<accumulator_t<bfloat16>, float>);
static_assert(std::same_as<accumulator_t<float>, float>);
static_assert(std::same_as<accumulator_t<double>, double>);
static_assert(sizeof(bfloat16) == 2 && std::is_trivially_copyable_v<bfloat16>);
static_assert(bfloat16(1.0F).bits == 0x3f80);
static_assert(std::string_view(scalar_name<bfloat16>) == "bfloat16");

namespace {
bfloat16 from_bits(std::uint16_t bits) {
  bfloat16 value;
  value.bits = bits;
  return value;
}
float next_to(bfloat16 value) { return float{from_bits(static_cast<std::uint16_t>(value.bits + 1))}; }
} // namespace

TEST_CASE("every bfloat16 survives the way through float and back") {
  int lost = 0;
  for (std::uint32_t bits = 0; bits != 0x10000; ++bits) {
    auto const value = from_bits(static_cast<std::uint16_t>(bits));
    bool const nan = std::isnan(float{value});
    auto const back = bfloat16(float{value});
    lost += nan ? !std::isnan(float{back}) : back.bits != value.bits;
  }
  CHECK_EQ(lost, 0);
}

TEST_CASE("conversion rounds to the nearest, and a tie to the even one") {
  int wrong = 0;
  for (std::uint32_t bits = 0; bits != 0x7f7f; ++bits) {
    auto const low = from_bits(static_cast<std::uint16_t>(bits));
    auto const middle = std::bit_cast<float>(bits << 16U | 0x8000U);
    wrong += float{bfloat16(std::nextafter(middle, 0.0F))} != float{low};
    wrong += float{bfloat16(std::nextafter(middle, std::numeric_limits<float>::infinity()))} != next_to(low);
    wrong += bfloat16(middle).bits != bits + (bits & 1U);
    wrong += bfloat16(-middle).bits != (0x8000U | (bits + (bits & 1U)));
  }
  CHECK_EQ(wrong, 0);
}

TEST_CASE("what lies beyond the largest bfloat16 becomes infinite, and no NaN becomes a number") {
  CHECK(std::isinf(float{bfloat16(std::numeric_limits<float>::max())}));
  CHECK(std::isinf(float{bfloat16(-std::numeric_limits<float>::infinity())}));
  for (std::uint32_t const payload : {1U, 0xffffU, 0x400000U, 0x7fffffU}) {
    CHECK(std::isnan(float{bfloat16(std::bit_cast<float>(0x7f800000U | payload))}));
    CHECK(std::isnan(float{bfloat16(std::bit_cast<float>(0xff800000U | payload))}));
  }
}
