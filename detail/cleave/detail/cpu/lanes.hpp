#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <cleave/core/scalar.hpp>
#include <cleave/core/tensor.hpp>

namespace cleave::detail::cpu {

// The processor that this translation unit is compiled for: the width of its vector registers, and how many it has.
#if defined(__AVX512F__)
inline constexpr Index register_bytes = 64;
inline constexpr Index registers = 32;
#elif defined(__AVX__)
inline constexpr Index register_bytes = 32;
inline constexpr Index registers = 16;
#elif defined(__aarch64__)
inline constexpr Index register_bytes = 16;
inline constexpr Index registers = 32;
#else
inline constexpr Index register_bytes = 16;
inline constexpr Index registers = 16;
#endif

/// How many numbers one register holds.
template <typename T>
inline constexpr Index lanes = register_bytes / static_cast<Index>(sizeof(T));

/// `count` numbers that are computed on at once: g++'s and clang's vector extension. Never an argument or a result,
/// because how those are passed depends on the processor.
template <typename T, Index count>
struct Lanes {
  typedef T type __attribute__((vector_size(count * static_cast<Index>(sizeof(T)))));
};
template <typename T, Index count = lanes<T>>
using lanes_of = typename Lanes<T, count>::type;

/// Reads a vector of V from anywhere, widened if need be.
template <typename V, typename T>
inline void load(V& to, T const* from) {
  if constexpr (std::is_same_v<T, bfloat16>) {
    constexpr Index count = sizeof(V) / sizeof(float);
    lanes_of<std::uint16_t, count> narrow;
    std::memcpy(&narrow, from, sizeof(narrow));
    auto const wide = __builtin_convertvector(narrow, lanes_of<std::uint32_t, count>) << 16;
    std::memcpy(&to, &wide, sizeof(to));
  } else {
    std::memcpy(&to, from, sizeof(to));
  }
}

/// One round of a perfect shuffle of `count` rows: rows i and i + count / 2 become rows 2 i and 2 i + 1, interleaved.
template <typename T, Index count, std::size_t... I>
inline void shuffle_rows(lanes_of<T, count> (&rows)[count], std::index_sequence<I...>) {
  constexpr Index half = count / 2;
  lanes_of<T, count> mixed[count];
  for (Index i = 0; i != half; ++i) {
    mixed[2 * i] = __builtin_shufflevector(rows[i], rows[i + half], (I / 2 + (I % 2) * count)...);
    mixed[2 * i + 1] = __builtin_shufflevector(rows[i], rows[i + half], (I / 2 + half + (I % 2) * count)...);
  }
  std::memcpy(rows, mixed, sizeof(rows));
}

/// Writes the transpose of the count x count block at `from`: log2(count) perfect shuffles.
template <Index count, typename T, typename From>
inline void transpose_block(T* to, Index to_stride, From const* from, Index from_stride) {
  lanes_of<T, count> rows[count];
  for (Index i = 0; i != count; ++i) {
    load(rows[i], from + i * from_stride);
  }
  for (Index width = 1; width != count; width *= 2) {
    shuffle_rows<T, count>(rows, std::make_index_sequence<static_cast<std::size_t>(count)>{});
  }
  for (Index i = 0; i != count; ++i) {
    std::memcpy(to + i * to_stride, &rows[i], sizeof(rows[i]));
  }
}

} // namespace cleave::detail::cpu
