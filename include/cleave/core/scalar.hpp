#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

namespace cleave {

/// The upper half of a float: 8 bits of exponent, 7 of fraction. Storage and wire only; arithmetic is
/// done in float. Conversion rounds to nearest, ties to even, and keeps NaN a NaN.
struct bfloat16 {
  std::uint16_t bits = 0;

  constexpr bfloat16() = default;
  constexpr explicit bfloat16(float value) : bits(rounded(std::bit_cast<std::uint32_t>(value))) {}
  constexpr operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16U); }

private:
  static constexpr std::uint16_t rounded(std::uint32_t wide) {
    bool const nan = (wide & 0x7fffffffU) > 0x7f800000U;
    std::uint32_t const half = 0x7fffU + ((wide >> 16U) & 1U);
    return static_cast<std::uint16_t>(nan ? (wide >> 16U) | 0x40U : (wide + half) >> 16U);
  }
};

/// The number types that weights, activations and gradients may have.
template <typename T>
concept scalar = std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, bfloat16>;

namespace detail {
template <scalar T>
struct accumulator {
  using type = T;
};
template <>
struct accumulator<bfloat16> {
  using type = float;
};
} // namespace detail

/// What sums of T are kept in: at least float.
template <scalar T>
using accumulator_t = typename detail::accumulator<T>::type;

/// How a scalar type is called in messages, tags and reports.
template <scalar T>
inline constexpr char const* scalar_name = std::same_as<T, float>    ? "float32"
                                           : std::same_as<T, double> ? "float64"
                                                                     : "bfloat16";

} // namespace cleave
