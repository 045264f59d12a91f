#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace cleave {

/// Philox4x32-10: a function from a counter and a key to four random words (Salmon et al., "Parallel
/// random numbers: as easy as 1, 2, 3", 2011). No state, so element i of a tensor has the same random
/// number on any number of ranks, and again in recomputation.
[[nodiscard]] constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                                            std::uint64_t key) {
  auto low = static_cast<std::uint32_t>(key);
  auto high = static_cast<std::uint32_t>(key >> 32U);
  for (int round = 0; round != 10; ++round) {
    std::uint64_t const a = std::uint64_t{0xD2511F53U} * counter[0];
    std::uint64_t const b = std::uint64_t{0xCD9E8D57U} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32U) ^ counter[1] ^ low, static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32U) ^ counter[3] ^ high, static_cast<std::uint32_t>(a)};
    low += 0x9E3779B9U;
    high += 0xBB67AE85U;
  }
  return counter;
}

/// A key derived from another key and a name or number: independent streams for tensors, layers, steps.
[[nodiscard]] constexpr std::uint64_t derive_key(std::uint64_t key, std::uint64_t number) {
  auto const word = philox({static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32U), 0, 1}, key);
  return std::uint64_t{word[0]} << 32U | word[1];
}
[[nodiscard]] constexpr std::uint64_t derive_key(std::uint64_t key, std::string_view name) {
  std::uint64_t hash = 14695981039346656037U; // FNV-1a
  for (char const c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  }
  return derive_key(key, hash);
}

/// Uniform in (0, 1): never an end, so that its logarithm is finite.
[[nodiscard]] constexpr double uniform(std::uint32_t word) {
  return (static_cast<double>(word) + 0.5) / 4294967296.0;
}

} // namespace cleave
