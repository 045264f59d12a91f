#include <cleave/comm/threads.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "conformance.hpp"
#include "failures.hpp"

using namespace cleave;
using comm::Threads;
using namespace std::chrono_literals;

namespace {

constexpr int rank_counts[] = {1, 2, 3, 4, 8};

} // namespace

TEST_CASE("threads conform") {
  for (int const ranks : rank_counts) {
    CAPTURE(ranks);
    std::atomic<int> ran = 0;
    Threads::run(ranks, [&](Threads& world) {
      CHECK_EQ(world.size(), ranks);
      CHECK_EQ(world.ranks_on_node(), ranks);
      conformance::conforms(world, static_cast<std::uint64_t>(ranks));
      ++ran;
    });
    CHECK_EQ(ran, ranks);
  }
}

TEST_CASE("128 ranks are threads of one process") {
  std::atomic<int> arrived = 0;
  Threads::run(128, [&](Threads& world) {
    conformance::many_in_flight(world, 5);
    double sum = 1;
    world.all_reduce(comm::no_unit, std::span(&sum, 1));
    CHECK_EQ(sum, 128.0);
    ++arrived;
    world.barrier();
    CHECK_EQ(arrived, 128);
  });
}

TEST_CASE("more collectives than the ring holds can be in flight") {
  Threads::run(3, [](Threads& world) {
    for (int round = 0; round < 4; ++round) {
      std::vector<conformance::Gather<Threads::Handle, float>> gathers;
      gathers.reserve(40);
      for (std::uint64_t i = 0; i < 40; ++i) {
        gathers.emplace_back(world, i, 50, false);
      }
      std::ranges::for_each(gathers, [](auto& gather) { gather.handle.wait(); });
      CHECK(std::ranges::all_of(gathers, [](auto const& gather) { return gather.right(); }));
    }
  });
}

TEST_CASE("another thread may wait") {
  Threads::run(2, [](Threads& world) {
    for (int round = 0; round < 20; ++round) {
      conformance::Gather<Threads::Handle, float> first(world, 1, 5000, false);
      conformance::Gather<Threads::Handle, float> second(world, 2, 5000, false);
      std::jthread waiting([handle = std::move(first.handle)]() mutable { handle.wait(); });
      conformance::Gather<Threads::Handle, float> third(world, 3, 5000, false);
      third.handle.wait();
      second.handle.wait();
      waiting.join();
      CHECK(first.right());
      CHECK(second.right());
      CHECK(third.right());
    }
  });
}

TEST_CASE("threads that disagree are told by what") {
  using enum failures::Difference;
  for (int const ranks : {2, 3, 8}) {
    for (auto const difference : {operation, unit, count, element, root}) {
      Threads::run(ranks, [&](Threads& world) { failures::disagreement(world, difference); });
    }
  }
}

TEST_CASE("a thread that is late is named") {
  for (int const ranks : {2, 4}) {
    Threads::run(ranks, [](Threads& world) { failures::overdue(world); }, {.deadline = 200ms});
  }
}

TEST_CASE("every thread hears that one gives up") {
  for (int const ranks : {2, 3, 8}) {
    Threads::run(ranks, [](Threads& world) { failures::abort_is_heard(world); });
  }
}

TEST_CASE("what the first failing rank threw comes out, and every rank ends") {
  struct Special : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  std::atomic<int> told = 0;
  auto const program = [&](Threads& world) {
    world.barrier();
    if (world.rank() == 1) {
      throw Special("no such file.");
    }
    std::string const text = failures::text_of([&] { world.barrier(); });
    CHECK_EQ(text, "rank 1 gave up: no such file.");
    ++told;
    world.barrier();
  };
  CHECK_THROWS_AS_MESSAGE(Threads::run(4, program), Special, "no such file.");
  CHECK_EQ(told, 3);
}

TEST_CASE("a failing rank may have collectives in flight") {
  for (std::uint64_t seed = 0; seed < 15; ++seed) {
    CHECK_THROWS_WITH_AS(Threads::run(4,
                                      [seed](Threads& world) {
                                        conformance::Generator random(
                                            seed * 7U + static_cast<std::uint64_t>(world.rank()));
                                        for (std::uint64_t i = 0;; ++i) {
                                          conformance::Gather<Threads::Handle, float> gather(world, i, 5000, false);
                                          conformance::dawdle(random);
                                          if (world.rank() == 2 && i == seed % 5) {
                                            throw std::runtime_error("out of memory");
                                          }
                                          gather.handle.wait();
                                        }
                                      }),
                         "out of memory", std::runtime_error);
  }
}

TEST_CASE("no ranks is an error") { CHECK_THROWS_AS(Threads::run(0, [](Threads&) {}), InvalidArgument); }
