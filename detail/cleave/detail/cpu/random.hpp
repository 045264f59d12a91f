#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <numbers>

#include <cleave/core/parameter.hpp>
#include <cleave/core/random.hpp>
#include <cleave/detail/cpu/block.hpp>
#include <cleave/detail/cpu/elementwise.hpp>
#include <cleave/detail/cpu/lanes.hpp>
#include <cleave/detail/cpu/parallel.hpp>
#include <cleave/detail/cpu/workspace.hpp>
#include <cleave/device/operations.hpp>

namespace cleave::detail::cpu {

inline constexpr Index philox_counters = 16;

/// The words of 16 counters in a row, four each.
using RandomBlock = std::uint32_t[4 * philox_counters];

/// Element i is word i % 4 of `philox` at counter i / 4: the same function, for as many counters at a time as a
/// register has room for products of two words.
inline void random_group(std::uint64_t counter, std::uint64_t key, std::uint32_t* words) {
  constexpr Index n = lanes<std::uint64_t>;
  using Wide = lanes_of<std::uint64_t, n>;
  using Words = lanes_of<std::uint32_t, n>;
  Wide number;
  for (Index j = 0; j != n; ++j) {
    number[j] = counter + static_cast<std::uint64_t>(j);
  }
  Words x[4] = {__builtin_convertvector(number, Words), __builtin_convertvector(number >> 32, Words), Words{}, Words{}};
  auto low = static_cast<std::uint32_t>(key);
  auto high = static_cast<std::uint32_t>(key >> 32U);
  for (int round = 0; round != 10; ++round) {
    Wide const a = __builtin_convertvector(x[0], Wide) * 0xD2511F53U;
    Wide const b = __builtin_convertvector(x[2], Wide) * 0xCD9E8D57U;
    x[0] = __builtin_convertvector(b >> 32, Words) ^ x[1] ^ low;
    x[1] = __builtin_convertvector(b, Words);
    x[2] = __builtin_convertvector(a >> 32, Words) ^ x[3] ^ high;
    x[3] = __builtin_convertvector(a, Words);
    low += 0x9E3779B9U;
    high += 0xBB67AE85U;
  }
  for (Index j = 0; j != n; ++j) {
    for (Index word = 0; word != 4; ++word) {
      words[4 * j + word] = x[word][j];
    }
  }
}
inline void random_block(std::uint64_t counter, std::uint64_t key, RandomBlock& words) {
  constexpr Index group = lanes<std::uint64_t>;
  static_assert(philox_counters % group == 0);
  for (Index j = 0; j != philox_counters; j += group) {
    random_group(counter + static_cast<std::uint64_t>(j), key, words + 4 * j);
  }
}

/// Calls body(words, i, count, offset) so that each of n elements, the first of which is `first` of its tensor, is in
/// one call: elements i .. i + count have the values from `offset` on of the block's, of which a counter makes `each`.
template <typename Body>
void for_each_random_block(std::uint64_t first, Index n, Index each, std::uint64_t key, Body const& body) {
  Index const size = each * philox_counters;
  RandomBlock words;
  auto offset = static_cast<Index>(first % static_cast<std::uint64_t>(each));
  std::uint64_t counter = first / static_cast<std::uint64_t>(each);
  for (Index i = 0; i < n; counter += philox_counters) {
    random_block(counter, key, words);
    Index const count = std::min(n - i, size - offset);
    body(words, i, count, offset);
    i += count;
    offset = 0;
  }
}

/// Drops elements `first` .. `first + n` of the global tensor.
template <typename T>
void drop(T* y, T const* x, std::uint64_t first, Index n, std::uint64_t key, double probability) {
  using A = accumulator_t<T>;
  // uniform(word) < probability, as integers.
  double const bound = std::ceil(probability * 4294967296.0 - 0.5);
  auto const threshold = static_cast<std::uint32_t>(std::clamp(bound, 0.0, 4294967295.0));
  A const scale = probability < 1 ? static_cast<A>(1 / (1 - probability)) : A{0};
  for_each_random_block(first, n, 4, key, [=](RandomBlock const& words, Index i, Index count, Index offset) {
    A value[4 * philox_counters];
    for (Index j = 0; j != count; ++j) {
      value[j] = convert<A>(x[i + j]) * scale;
    }
    for (Index j = 0; j != count; ++j) {
      value[j] = words[offset + j] < threshold ? A{0} : value[j];
    }
    for (Index j = 0; j != count; ++j) {
      y[i + j] = convert<T>(value[j]);
    }
  });
}

template <typename T>
void apply(Workspace& workspace, op::Dropout const& op, Matrix<T> y, Given<Matrix<T const>> x) {
  assert(same_shape(y, x) && "Dropout: y is shaped as x");
  for_each_run(workspace.threads(), y.rows, y.columns, contiguous(y, x), [&](Index r, Index first, Index last) {
    auto const element = static_cast<std::uint64_t>((op.first_row + r) * y.columns + first);
    drop(y.data + r * y.stride + first, x.data + r * x.stride + first, element, last - first, op.key, op.probability);
  });
}

/// Standard normal values from a block of words: each counter makes a pair (Box and Muller, 1958).
inline void normal_block(RandomBlock const& words, double (&values)[4 * philox_counters]) {
  for (Index j = 0; j != philox_counters; ++j) {
    double const radius = std::sqrt(-2 * std::log(uniform(words[4 * j])));
    double const angle = 2 * std::numbers::pi * uniform(words[4 * j + 1]);
    values[2 * j] = radius * std::cos(angle);
    values[2 * j + 1] = radius * std::sin(angle);
  }
}
/// Values in (-1, 1): each word makes one.
inline void uniform_block(RandomBlock const& words, double (&values)[4 * philox_counters]) {
  for (Index j = 0; j != 4 * philox_counters; ++j) {
    values[j] = 2 * uniform(words[j]) - 1;
  }
}

template <typename T>
void initialise(T* y, Index first, Index n, op::Initialise const& op) {
  auto const kind = static_cast<Initialiser::Kind>(op.kind);
  if (kind == Initialiser::Kind::constant) {
    std::fill_n(y, n, convert<T>(op.scale));
    return;
  }
  bool const normal = kind == Initialiser::Kind::normal;
  for_each_random_block(static_cast<std::uint64_t>(first), n, normal ? 2 : 4, op.key,
                        [&](RandomBlock const& words, Index i, Index count, Index offset) {
                          double values[4 * philox_counters];
                          normal ? normal_block(words, values) : uniform_block(words, values);
                          for (Index j = 0; j != count; ++j) {
                            y[i + j] = convert<T>(op.scale * values[offset + j]);
                          }
                        });
}

template <typename T>
void apply(Workspace& workspace, op::Initialise const& op, Vector<T> y) {
  for_each_range(workspace.threads(), y.size, block_size, y.size,
                 [&](Index first, Index last) { initialise(y.data + first, op.first + first, last - first, op); });
}

} // namespace cleave::detail::cpu
