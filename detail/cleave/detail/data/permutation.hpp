#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include <cleave/core/tensor.hpp>

namespace cleave::detail {

/// Fisher and Yates' shuffle from the front, one 32-bit draw for each element.
[[nodiscard]] inline std::vector<Index> permutation_by_words(Index size, std::mt19937& random) {
  std::vector<Index> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), Index{0});
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    std::swap(order[i], order[i + random() % (order.size() - i)]);
  }
  return order;
}

/// The "inside-out" variant, one 64-bit draw (high word first) for each element.
[[nodiscard]] inline std::vector<Index> permutation_by_double_words(Index size, std::mt19937& random) {
  std::vector<Index> order(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i != order.size(); ++i) {
    std::uint64_t const high = random();
    std::uint64_t const draw = high << 32U | random();
    std::size_t const j = draw % (i + 1);
    order[i] = order[j];
    order[j] = static_cast<Index>(i);
  }
  return order;
}

/// torch.randperm(size) of a generator seeded with `seed`, whose Mersenne Twister takes the low 32 bits. From a
/// twentieth of 2^32 on, PyTorch finds 32-bit draws too uneven.
[[nodiscard]] inline std::vector<Index> torch_permutation(Index size, std::uint64_t seed) {
  constexpr Index words_suffice_below = std::numeric_limits<std::uint32_t>::max() / 20;
  std::mt19937 random(static_cast<std::uint32_t>(seed));
  return size < words_suffice_below ? permutation_by_words(size, random) : permutation_by_double_words(size, random);
}

} // namespace cleave::detail
