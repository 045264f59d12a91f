#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include <cleave/checkpoint/dtype.hpp>
#include <cleave/core/scalar.hpp>

namespace cleave::detail {

/// IEEE 754 binary16, for reading only.
struct Half {
  std::uint16_t bits = 0;

  operator float() const {
    int const exponent = (bits >> 10) & 0x1f;
    int const fraction = bits & 0x3ff;
    float const sign = (bits & 0x8000) != 0 ? -1.0F : 1.0F;
    if (exponent == 0x1f) { // infinity or NaN, whose payload is kept
      auto const wide =
          (std::uint32_t{bits} & 0x8000U) << 16U | 0x7f800000U | static_cast<std::uint32_t>(fraction) << 13U;
      return std::bit_cast<float>(wide);
    }
    return exponent == 0 ? sign * std::ldexp(static_cast<float>(fraction), -24)
                         : sign * std::ldexp(static_cast<float>(fraction | 0x400), exponent - 25);
  }
};

template <typename To, typename From>
To converted(From value) {
  if constexpr (std::same_as<To, From>) {
    return value;
  } else if constexpr (std::same_as<From, double> && std::same_as<To, bfloat16>) {
    return bfloat16(static_cast<float>(value));
  } else {
    return static_cast<To>(static_cast<std::conditional_t<std::same_as<From, double>, double, float>>(value));
  }
}

/// `out` becomes the elements of type From at `bytes`, which may lie at any address.
template <typename From, typename To>
void load_as(std::byte const* bytes, std::span<To> out) {
  for (To& value : out) {
    From stored;
    std::memcpy(&stored, bytes, sizeof(From));
    bytes += sizeof(From);
    value = converted<To>(stored);
  }
}

/// The same for a type known at run time; false when it is not a floating-point type that can be read.
template <scalar To>
bool load(checkpoint::Dtype dtype, std::byte const* bytes, std::span<To> out) {
  using checkpoint::Dtype;
  switch (dtype) {
  case Dtype::float64:
    return load_as<double>(bytes, out), true;
  case Dtype::float32:
    return load_as<float>(bytes, out), true;
  case Dtype::bfloat16:
    return load_as<bfloat16>(bytes, out), true;
  case Dtype::float16:
    return load_as<Half>(bytes, out), true;
  default:
    return false;
  }
}

template <typename To, scalar From>
void store_as(std::span<From const> values, std::byte* bytes) {
  for (From const value : values) {
    To const stored = converted<To>(value);
    std::memcpy(bytes, &stored, sizeof(To));
    bytes += sizeof(To);
  }
}

/// Writes `values` to `bytes` as `dtype`; false when it is not a type that can be written from numbers.
template <scalar From>
bool store(checkpoint::Dtype dtype, std::span<From const> values, std::byte* bytes) {
  using checkpoint::Dtype;
  switch (dtype) {
  case Dtype::float64:
    return store_as<double>(values, bytes), true;
  case Dtype::float32:
    return store_as<float>(values, bytes), true;
  case Dtype::bfloat16:
    return store_as<bfloat16>(values, bytes), true;
  default:
    return false;
  }
}

} // namespace cleave::detail
