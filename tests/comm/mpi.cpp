#include <cleave/comm/mpi.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "conformance.hpp"
#include "failures.hpp"

// Run under mpirun, with any number of ranks. Every world here is opened on an MPI that runs already; launch.cpp has
// the ones that start and end it.

using namespace cleave;
using comm::Mpi;
using namespace std::chrono_literals;

namespace {

/// For each collective fault a world of its own.
template <typename F>
void in_new_world(F f, comm::Options options = {}) {
  Mpi world(0, nullptr, options);
  if (world.size() > 1) {
    f(world);
  }
}

} // namespace

TEST_CASE("processes conform") {
  Mpi world(0, nullptr);
  CHECK_EQ(world.ranks_on_node(), world.size());
  conformance::conforms(world, 11);
}

TEST_CASE("two worlds live side by side") {
  Mpi first(0, nullptr);
  Mpi second(0, nullptr);
  conformance::Gather<Mpi::Handle, float> one(first, 1, 1000, false);
  conformance::Gather<Mpi::Handle, float> two(second, 2, 1000, false);
  two.handle.wait();
  one.handle.wait();
  CHECK(one.right());
  CHECK(two.right());
}

TEST_CASE("more collectives than the ring holds can be in flight") {
  Mpi world(0, nullptr);
  std::vector<conformance::Gather<Mpi::Handle, float>> gathers;
  gathers.reserve(80);
  for (std::uint64_t i = 0; i < 80; ++i) {
    gathers.emplace_back(world, i, 50, false);
  }
  std::ranges::for_each(gathers, [](auto& gather) { gather.handle.wait(); });
  CHECK(std::ranges::all_of(gathers, [](auto const& gather) { return gather.right(); }));
}

TEST_CASE("a buffer beyond the range of int is one element of a large type") {
  for (std::size_t const size : {1001U, 4096U, 4097U, 9000U}) {
    detail::MpiBytes const bytes(size, 1000, 64);
    CHECK_EQ(bytes.count(), 1);
    MPI_Count found = 0;
    MPI_Count extent = 0;
    MPI_Count lower = 0;
    MPI_Type_size_x(bytes.type(), &found);
    MPI_Type_get_extent_x(bytes.type(), &lower, &extent);
    CHECK_EQ(found, static_cast<MPI_Count>(size));
    CHECK_EQ(extent, static_cast<MPI_Count>(size));
    CHECK_EQ(lower, 0);
  }
  CHECK_EQ(detail::MpiBytes(1000, 1000, 64).count(), 1000);
}

TEST_CASE("processes that disagree are told by what") {
  using enum failures::Difference;
  for (auto const difference : {operation, unit, count, element, root}) {
    in_new_world([&](Mpi& world) { failures::disagreement(world, difference); });
  }
}

TEST_CASE("a process that is late is named") {
  in_new_world([](Mpi& world) { failures::overdue(world); }, {.deadline = 200ms});
}

TEST_CASE("every process hears that one gives up") {
  in_new_world([](Mpi& world) { failures::abort_is_heard(world); });
}
