#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string_view>

#include <cleave/core/scalar.hpp>
#include <cleave/core/tensor.hpp>

namespace cleave::checkpoint {

/// The element types of the safetensors format.
enum class Dtype {
  float64,
  float32,
  float16,
  bfloat16,
  int64,
  int32,
  int16,
  int8,
  uint64,
  uint32,
  uint16,
  uint8,
  boolean,
  float8_e5m2,
  float8_e4m3,
};

} // namespace cleave::checkpoint

namespace cleave::detail {

struct DtypeEntry {
  checkpoint::Dtype dtype;
  std::string_view name; // in the file
  Index bytes;
};

inline constexpr std::array dtype_table{
    DtypeEntry{checkpoint::Dtype::float64, "F64", 8},         DtypeEntry{checkpoint::Dtype::float32, "F32", 4},
    DtypeEntry{checkpoint::Dtype::float16, "F16", 2},         DtypeEntry{checkpoint::Dtype::bfloat16, "BF16", 2},
    DtypeEntry{checkpoint::Dtype::int64, "I64", 8},           DtypeEntry{checkpoint::Dtype::int32, "I32", 4},
    DtypeEntry{checkpoint::Dtype::int16, "I16", 2},           DtypeEntry{checkpoint::Dtype::int8, "I8", 1},
    DtypeEntry{checkpoint::Dtype::uint64, "U64", 8},          DtypeEntry{checkpoint::Dtype::uint32, "U32", 4},
    DtypeEntry{checkpoint::Dtype::uint16, "U16", 2},          DtypeEntry{checkpoint::Dtype::uint8, "U8", 1},
    DtypeEntry{checkpoint::Dtype::boolean, "BOOL", 1},        DtypeEntry{checkpoint::Dtype::float8_e5m2, "F8_E5M2", 1},
    DtypeEntry{checkpoint::Dtype::float8_e4m3, "F8_E4M3", 1},
};

} // namespace cleave::detail

namespace cleave::checkpoint {

/// What the file calls it ("F32").
[[nodiscard]] constexpr std::string_view dtype_name(Dtype dtype) {
  return detail::dtype_table[static_cast<std::size_t>(dtype)].name;
}

/// Bytes of an element.
[[nodiscard]] constexpr Index dtype_bytes(Dtype dtype) {
  return detail::dtype_table[static_cast<std::size_t>(dtype)].bytes;
}

/// The type that a file calls `name`, if there is one.
[[nodiscard]] constexpr std::optional<Dtype> find_dtype(std::string_view name) {
  for (detail::DtypeEntry const& entry : detail::dtype_table) {
    if (entry.name == name) {
      return entry.dtype;
    }
  }
  return std::nullopt;
}

/// The type that stores a T without loss.
template <scalar T>
inline constexpr Dtype dtype_of = std::same_as<T, double>  ? Dtype::float64
                                  : std::same_as<T, float> ? Dtype::float32
                                                           : Dtype::bfloat16;

} // namespace cleave::checkpoint
