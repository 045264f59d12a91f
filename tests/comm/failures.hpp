#pragma once

// How every communicator must fail. Each function ruins its world.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <cleave/comm/communicator.hpp>
#include <cleave/core/error.hpp>
#include <cleave/detail/comm/call.hpp>

#include "conformance.hpp"

namespace cleave::failures {

using conformance::view;
using testing::contains;
using testing::error_text;

/// The text of the error that ends `f` on this rank.
template <typename F>
[[nodiscard]] std::string text_of(F f) {
  return error_text<CommunicationError>(f);
}

enum class Difference { operation, unit, count, element, root };

/// The last rank makes another call than all others.
template <communicator C>
void disagreement(C& world, Difference difference) {
  bool const odd = world.rank() == world.size() - 1;
  auto const ranks = static_cast<std::size_t>(world.size());
  world.name_units({"wte", "h.0", "h.1"});
  world.barrier();
  std::vector<float> all(ranks * 2000);
  std::vector<float> mine(2000);
  std::vector<double> wide_all(ranks * 1024);
  std::vector<double> wide_mine(1024);
  std::vector<std::byte> scratch(ranks * 1024 * sizeof(float));
  auto const gather = [&](std::uint16_t unit, std::size_t count) {
    world.all_gather(unit, view(mine).first(count), std::span(all).first(count * ranks)).wait();
  };
  std::string found;
  std::string other;
  std::string const usual = "rank 0 in all-gather of unit 'h.1' (1,024 x 4 bytes), collective 1. Every rank must";
  switch (difference) {
  case Difference::operation:
    found = text_of([&] {
      odd ? world.reduce_scatter(2, view(all).first(1024 * ranks), std::span(mine).first(1024), std::span(scratch),
                                 comm::Into::overwrite)
                .wait()
          : gather(2, 1024);
    });
    other = " is in reduce-scatter of unit 'h.1' (" + detail::grouped(1024 * ranks) + " x 4 bytes)";
    break;
  case Difference::unit:
    found = text_of([&] { gather(odd ? 7 : 2, 1024); });
    other = " is in all-gather of unit 7 (1,024 x 4 bytes)";
    break;
  case Difference::count:
    found = text_of([&] { gather(2, odd ? 2000 : 1024); });
    other = " is in all-gather of unit 'h.1' (2,000 x 4 bytes)";
    break;
  case Difference::element:
    found = text_of([&] {
      odd ? world.all_gather(2, view(wide_mine), std::span(wide_all)).wait() : gather(2, 1024);
    });
    other = " is in all-gather of unit 'h.1' (1,024 x 8 bytes)";
    break;
  case Difference::root:
    found = text_of([&] { world.broadcast(comm::no_unit, std::span(mine), odd ? 1 : 0); });
    other = " is in broadcast from rank 1 (2,000 x 4 bytes), rank 0 in broadcast from rank 0 (2,000 x 4 bytes)";
    break;
  }
  INFO(found);
  CHECK(contains(found, "rank " + std::to_string(world.size() - 1) + other));
  CHECK(contains(found, difference == Difference::root ? "collective 1" : usual));
  CHECK_EQ(text_of([&] { world.barrier(); }), found); // there is no way back
}

/// The last rank comes too late for a deadline of 200 ms.
template <communicator C>
void overdue(C& world) {
  int const late = world.size() - 1;
  world.name_units({"wte"});
  world.barrier();
  if (world.rank() == late) {
    std::this_thread::sleep_for(std::chrono::milliseconds{600});
  }
  std::vector<float> mine(5);
  std::vector<float> all(5 * static_cast<std::size_t>(world.size()));
  std::string const found = text_of([&] { world.all_gather(0, view(mine), std::span(all)).wait(); });
  INFO(found);
  CHECK(contains(found, "waited 0.2"));
  std::string const missing = " s for rank " + std::to_string(late);
  CHECK(contains(found, missing + " in all-gather of unit 'wte' (5 x 4 bytes), collective 1"));
}

/// One rank gives up while the others are in a wait; then in everything they start; twice is once.
template <communicator C>
void abort_is_heard(C& world) {
  int const quitter = world.size() - 1;
  std::string const expected = "rank " + std::to_string(quitter) + " gave up: the disk is full.";
  C half = world.split(world.rank() % 2, 0);
  if (world.rank() == quitter) {
    world.barrier();
    std::this_thread::sleep_for(std::chrono::milliseconds{20}); // most are in a wait by now
    world.abort("the disk is full.");
    world.abort("and so is the other.");
  } else {
    std::vector<float> mine(300000);
    std::vector<float> all(mine.size() * static_cast<std::size_t>(world.size()));
    CHECK_EQ(text_of([&] {
               world.barrier();
               auto const ended_by_itself = world.all_gather(0, view(mine), std::span(all));
               world.barrier();
             }),
             expected);
  }
  CHECK_EQ(text_of([&] { world.barrier(); }), expected);
  CHECK_EQ(text_of([&] { half.barrier(); }), expected);
}

} // namespace cleave::failures
