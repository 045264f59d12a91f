#pragma once

// What every communicator must do. Each function is run by every rank of `world`; checks never throw, so that a
// failure on one rank leaves the ranks in step.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <cleave/comm/communicator.hpp>
#include <cleave/core/error.hpp>
#include <cleave/core/scalar.hpp>

#include "../support/error_text.hpp"

namespace cleave::conformance {

using Generator = std::mt19937_64;
using testing::contains;
using testing::error_text;

/// Element i of what `rank` brings to exchange `which`. Sizes spread over 2^20, so that sums depend on their order.
template <typename T>
[[nodiscard]] T element(int rank, std::uint64_t which, std::size_t i) {
  std::uint64_t bits = which * 1000003U + static_cast<std::uint64_t>(rank) * 0x9e3779b97f4a7c15U + i;
  bits = (bits ^ (bits >> 31U)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
  if constexpr (scalar<T>) {
    double const fraction = static_cast<double>(bits >> 40U) / static_cast<double>(1U << 24U) - 0.5;
    return T(static_cast<float>(fraction * static_cast<double>(1U << (bits % 20U))));
  } else {
    return static_cast<T>(bits >> 20U);
  }
}

template <typename T>
[[nodiscard]] std::vector<T> elements(int rank, std::uint64_t which, std::size_t count) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = element<T>(rank, which, i);
  }
  return values;
}

template <typename T>
[[nodiscard]] bool same_bits(std::vector<T> const& a, std::vector<T> const& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <typename T>
[[nodiscard]] std::span<T const> view(std::vector<T> const& values) {
  return values;
}

/// The same on every rank for one seed.
[[nodiscard]] inline std::vector<std::size_t> sizes(std::uint64_t seed) {
  Generator random(seed);
  std::vector<std::size_t> some{0, 1, 2, 3, 2047, 2048, 2049};
  for (int i = 0; i < 8; ++i) {
    some.push_back(random() % 7000);
  }
  return some;
}

inline void dawdle(Generator& random) {
  if (random() % 3 == 0) {
    std::this_thread::sleep_for(std::chrono::microseconds{random() % 300});
  }
}

/// A collective with its buffers, and what they must hold in the end.
template <typename Handle, typename T>
struct Gather {
  std::vector<T> source;
  std::vector<T> all;
  std::vector<T> expected;
  Handle handle; // last, so that its end waits while the buffers live

  template <typename C>
  Gather(C& world, std::uint64_t which, std::size_t count, bool in_place) : all(count * ranks(world)) {
    source = elements<T>(world.rank(), which, count);
    std::span<T const> mine = source;
    if (in_place) {
      std::ranges::copy(source, all.begin() + world.rank() * std::ssize(source));
      mine = std::span<T const>(all).subspan(static_cast<std::size_t>(world.rank()) * count, count);
    }
    for (int rank = 0; rank < world.size(); ++rank) {
      auto const part = elements<T>(rank, which, count);
      expected.insert(expected.end(), part.begin(), part.end());
    }
    handle = world.all_gather(static_cast<std::uint16_t>(which), mine, std::span(all));
  }

  [[nodiscard]] bool right() const { return same_bits(all, expected); }

private:
  template <typename C>
  static std::size_t ranks(C const& world) {
    return static_cast<std::size_t>(world.size());
  }
};

template <typename Handle, typename Wire, typename Sum>
struct Reduce {
  std::vector<Wire> all;
  std::vector<std::byte> scratch;
  std::vector<Sum> mine;
  std::vector<Sum> expected;
  Handle handle;

  template <typename C>
  Reduce(C& world, std::uint64_t which, std::size_t count, comm::Into into) : mine(elements<Sum>(99, which, count)) {
    auto const first = static_cast<std::size_t>(world.rank()) * count;
    all = elements<Wire>(world.rank(), which, count * static_cast<std::size_t>(world.size()));
    for (std::size_t i = 0; i < count; ++i) {
      auto sum = static_cast<Sum>(element<Wire>(0, which, first + i));
      for (int rank = 1; rank < world.size(); ++rank) {
        sum += static_cast<Sum>(element<Wire>(rank, which, first + i));
      }
      expected.push_back(into == comm::Into::add ? mine[i] + sum : sum);
    }
    scratch.resize(static_cast<std::size_t>(
        C::template reduce_scratch_bytes<Wire>(static_cast<Index>(count), world.size())));
    handle = world.reduce_scatter(static_cast<std::uint16_t>(which), view(all), std::span(mine), std::span(scratch),
                                  into);
  }

  [[nodiscard]] bool right() const { return same_bits(mine, expected); }
};

template <typename T, communicator C>
using handle_of = decltype(std::declval<C&>().all_gather(std::uint16_t{}, std::span<T const>{}, std::span<T>{}));

template <typename T, communicator C>
void gathers(C& world, std::uint64_t seed) {
  for (std::size_t const count : sizes(seed)) {
    Gather<handle_of<T, C>, T> gather(world, count, count, count % 2 == 0);
    gather.handle.wait();
    CHECK(gather.right());
  }
}

template <typename Wire, typename Sum, communicator C>
void reduces(C& world, std::uint64_t seed) {
  for (std::size_t const count : sizes(seed)) {
    for (comm::Into const into : {comm::Into::overwrite, comm::Into::add}) {
      Reduce<handle_of<float, C>, Wire, Sum> reduce(world, count, count, into);
      reduce.handle.wait();
      CHECK(reduce.right());
    }
  }
}

/// 256 + 1 is 256 in bfloat16: a sum kept in 16 bits would lose every one.
template <communicator C>
void sums_wider_than_the_wire(C& world) {
  auto const ranks = static_cast<std::size_t>(world.size());
  std::vector<bfloat16> const all(ranks, bfloat16(world.rank() == 0 ? 256.0F : 1.0F));
  std::vector<std::byte> scratch(
      static_cast<std::size_t>(C::template reduce_scratch_bytes<bfloat16>(1, world.size())));
  float sum = -256.0F;
  world.reduce_scatter(0, view(all), std::span(&sum, 1), std::span(scratch), comm::Into::add).wait();
  CHECK_EQ(sum, static_cast<float>(world.size() - 1));
}

/// A full load in flight, started after random delays, and waited for in an order that each rank makes up: by wait(),
/// by test(), or by the end of the handle.
template <communicator C>
void many_in_flight(C& world, std::uint64_t seed) {
  constexpr std::size_t flights = 16;
  Generator same(seed);
  Generator own(seed * 131U + static_cast<std::uint64_t>(world.rank()));
  using Handle = handle_of<float, C>;
  std::vector<Gather<Handle, float>> gathers;
  std::vector<Reduce<Handle, bfloat16, float>> reduces;
  gathers.reserve(flights);
  reduces.reserve(flights);
  for (std::uint64_t i = 0; i < flights; ++i) {
    dawdle(own);
    std::size_t const count = same() % 3000;
    if (same() % 2 == 0) {
      gathers.emplace_back(world, i, count, count % 2 == 0);
    } else {
      reduces.emplace_back(world, i, count, count % 2 == 0 ? comm::Into::add : comm::Into::overwrite);
    }
  }
  std::vector<Handle*> handles;
  for (auto& gather : gathers) {
    handles.push_back(&gather.handle);
  }
  for (auto& reduce : reduces) {
    handles.push_back(&reduce.handle);
  }
  std::ranges::shuffle(handles, own);
  for (Handle* const handle : handles) {
    switch (own() % 3) {
    case 0: handle->wait(); break;
    case 1:
      while (!handle->test()) {
        std::this_thread::yield();
      }
      break;
    default: { [[maybe_unused]] Handle const ended = std::move(*handle); }
    }
  }
  CHECK(std::ranges::all_of(gathers, [](auto const& gather) { return gather.right(); }));
  CHECK(std::ranges::all_of(reduces, [](auto const& reduce) { return reduce.right(); }));
}

template <typename T, communicator C>
void all_reduces(C& world) {
  for (std::size_t const count : {0U, 1U, 3U, 600U}) {
    auto values = elements<T>(world.rank(), count, count);
    auto expected = elements<T>(0, count, count);
    for (int rank = 1; rank < world.size(); ++rank) {
      auto const other = elements<T>(rank, count, count);
      std::ranges::transform(expected, other, expected.begin(), std::plus<>{});
    }
    world.all_reduce(comm::no_unit, std::span(values));
    CHECK(same_bits(values, expected));
  }
}

struct Record {
  std::array<int, 100> numbers; // larger than a tag's element
};

template <communicator C>
void broadcasts(C& world) {
  for (int root = 0; root < world.size(); ++root) {
    for (std::size_t const count : {0U, 1U, 1000U}) {
      auto values = elements<std::uint64_t>(world.rank(), 7, count);
      world.broadcast(comm::no_unit, std::span(values), root);
      CHECK(same_bits(values, elements<std::uint64_t>(root, 7, count)));
    }
    Record record{};
    record.numbers.fill(world.rank());
    world.broadcast(comm::no_unit, std::span(&record, 1), root);
    CHECK(std::ranges::all_of(record.numbers, [&](int number) { return number == root; }));
  }
}

/// Odd and even ranks, each in reverse order, busy at the same time as the world.
template <communicator C>
void splits(C& world, std::uint64_t seed) {
  int const rank = world.rank();
  C half = world.split(rank % 2, -rank);
  int const size = (world.size() + 1 - rank % 2) / 2;
  CHECK_EQ(half.size(), size);
  CHECK_EQ(half.rank(), size - 1 - rank / 2);
  CHECK_EQ(half.ranks_on_node(), world.ranks_on_node());
  Gather<handle_of<float, C>, float> around(world, 3, 100, false);
  many_in_flight(half, seed);
  double sum = rank;
  half.all_reduce(comm::no_unit, std::span(&sum, 1));
  CHECK_EQ(sum, static_cast<double>(size * (size - 1) + (rank % 2) * size));
  around.handle.wait();
  CHECK(around.right());
}

/// A moved-to handle is the one that waits; an empty one has nothing to wait for.
template <communicator C>
void moves_handles(C& world) {
  handle_of<float, C> empty;
  CHECK(empty.test());
  empty.wait();
  Gather<handle_of<float, C>, float> gather(world, 1, 10, false);
  auto moved = std::move(gather.handle);
  empty = std::move(moved);
  empty.wait();
  CHECK(gather.right());
}

template <communicator C>
void rejects_bad_arguments(C& world) {
  std::vector<float> short_by_one(static_cast<std::size_t>(world.size() * 4 - 1));
  std::vector<float> four(4);
  std::vector<float> const read = short_by_one;
  auto const gather = [&] { static_cast<void>(world.all_gather(0, view(four), std::span(short_by_one))); };
  auto const reduce = [&] {
    static_cast<void>(world.reduce_scatter(0, view(read), std::span(four), {}, comm::Into::add));
  };
  CHECK(contains(error_text<InvalidArgument>(gather), "ranks x 4 elements"));
  CHECK(contains(error_text<InvalidArgument>(reduce), "ranks x 4 elements"));
  CHECK(contains(error_text<InvalidArgument>([&] { world.broadcast(0, std::span(four), world.size()); }), "root"));
  CHECK(contains(error_text<InvalidArgument>([&] { static_cast<void>(world.split(world.rank() - 1, 0)); }),
                 "rank 0 has color -1"));
}

/// All of the above.
template <communicator C>
void conforms(C& world, std::uint64_t seed) {
  CHECK(world.rank() >= 0);
  CHECK(world.rank() < world.size());
  gathers<float>(world, seed);
  gathers<double>(world, seed);
  gathers<bfloat16>(world, seed);
  gathers<std::uint8_t>(world, seed);
  reduces<float, float>(world, seed);
  reduces<double, double>(world, seed);
  reduces<bfloat16, float>(world, seed);
  sums_wider_than_the_wire(world);
  for (std::uint64_t round = 0; round < 8; ++round) {
    many_in_flight(world, seed + round);
  }
  all_reduces<double>(world);
  all_reduces<float>(world);
  all_reduces<std::int64_t>(world);
  all_reduces<std::uint64_t>(world);
  broadcasts(world);
  splits(world, seed);
  moves_handles(world);
  rejects_bad_arguments(world);
  world.barrier();
}

} // namespace cleave::conformance
