#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <type_traits>

namespace cleave::detail::cpu {

/// exp to 2 units in the last place. Below -87.3 (where floats lose bits) it is 0, above 88.3 infinite. Written without
/// calls or branches, so that loops over it become vector instructions.
[[nodiscard]] inline float exponential(float x) {
  constexpr float low = -87.3F;
  constexpr float high = 88.3F;
  constexpr float shift = 12582912.0F; // 1.5 * 2^23: adding it rounds to an integer, in the lowest bits
  float const clamped = x < low ? low : (x > high ? high : x);
  float const shifted = clamped * std::numbers::log2e_v<float> + shift;
  float const whole = shifted - shift;
  // ln 2 in two parts, the first with few bits, so that its multiples are exact.
  float const r = (clamped - whole * 0.693359375F) + whole * 2.12194440e-4F;
  float series = 1.0F / 5040.0F;
  series = series * r + 1.0F / 720.0F;
  series = series * r + 1.0F / 120.0F;
  series = series * r + 1.0F / 24.0F;
  series = series * r + 1.0F / 6.0F;
  series = series * r + 0.5F;
  series = series * r * r + r + 1.0F;
  auto const exponent = std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(shift);
  float const power = std::bit_cast<float>((exponent + 127) << 23);
  float const result = series * power;
  return x < low ? 0.0F : (x > high ? std::numeric_limits<float>::infinity() : result);
}
[[nodiscard]] inline double exponential(double x) { return std::exp(x); }

template <typename A>
[[nodiscard]] A logistic(A x) {
  return A{1} / (A{1} + exponential(-x));
}

template <typename A>
struct Sigmoid {
  A value;
  A slope;
};

/// The logistic function and its derivative s (1 - s), without the cancellation of 1 - s.
template <typename A>
[[nodiscard]] Sigmoid<A> sigmoid(A x) {
  A const e = exponential(-std::fabs(x));
  A const near_one = A{1} / (A{1} + e);
  return {x < A{0} ? e * near_one : near_one, e * near_one * near_one};
}

/// tanh to 3 units in the last place: near zero an odd polynomial (Cephes' tanhf), else from the exponential.
[[nodiscard]] inline float hyperbolic_tangent(float x) {
  float const size = std::fabs(x);
  float const z = x * x;
  float series = -5.70498872745e-3F;
  series = series * z + 2.06390887954e-2F;
  series = series * z - 5.37397155531e-2F;
  series = series * z + 1.33314422036e-1F;
  series = series * z - 3.33332819422e-1F;
  float const near = x + x * z * series;
  float const far = std::copysign(1.0F - 2.0F / (exponential(2.0F * size) + 1.0F), x);
  return size < 0.625F ? near : far;
}
[[nodiscard]] inline double hyperbolic_tangent(double x) { return std::tanh(x); }

/// The probability that a standard normal variable is below x: erfc(-x / sqrt 2) / 2.
[[nodiscard]] inline double normal_distribution(double x) { return 0.5 * std::erfc(-x * (std::numbers::sqrt2 / 2)); }

/// To 2e-7: with z = |x| / sqrt 2 and t = 1 / (1 + z / 2), erfc(z) exp(z^2) / t is a smooth function of t, here a
/// polynomial in u = 2 t - 1 that is interpolated at Chebyshev's nodes.
[[nodiscard]] inline float normal_distribution(float x) {
  float const t = 1.0F / (1.0F + std::fabs(x) * (std::numbers::sqrt2_v<float> / 4));
  float const u = 2.0F * t - 1.0F;
  float series = 4.216119719e-5F;
  series = series * u - 3.660187698e-5F;
  series = series * u - 2.993827121e-4F;
  series = series * u + 4.306704885e-4F;
  series = series * u + 1.529157161e-3F;
  series = series * u - 3.243451918e-3F;
  series = series * u - 1.075162619e-2F;
  series = series * u + 1.822166943e-2F;
  series = series * u + 1.397357335e-1F;
  series = series * u + 3.435803187e-1F;
  series = series * u + 5.107913569e-1F;
  float const tail = 0.5F * t * series * exponential(-0.5F * x * x);
  return x < 0.0F ? tail : 1.0F - tail;
}

/// The square root of a number that is not negative, to 1 unit in the last place (numbers below the least normal one
/// less exactly). std::sqrt sets errno, and therefore does not become vector instructions.
template <typename A>
[[nodiscard]] A square_root(A x) {
  constexpr bool wide = sizeof(A) == 8;
  using Bits = std::conditional_t<wide, std::uint64_t, std::uint32_t>;
  constexpr Bits magic = static_cast<Bits>(wide ? 0x5fe6eb50c7b537a9U : 0x5f375a86U);
  // A first guess at 1 / sqrt(x) by halving the exponent, good to 3%, doubles its correct digits in each Newton step.
  A inverse = std::bit_cast<A>(static_cast<Bits>(magic - (std::bit_cast<Bits>(x) >> 1U)));
  for (int step = 0; step != (wide ? 4 : 3); ++step) {
    inverse = inverse * (A{1.5} - A{0.5} * x * inverse * inverse);
  }
  A const root = x * inverse;
  return root + A{0.5} * inverse * (x - root * root);
}

} // namespace cleave::detail::cpu
