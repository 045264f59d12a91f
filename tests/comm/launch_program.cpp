// A program that ends in the way its argument names; launch.py watches it.

#include <chrono>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <cleave/comm/launch.hpp>
#include <cleave/comm/mpi.hpp>

using namespace cleave;
using namespace std::chrono_literals;

namespace {

/// Training, as far as ranks can tell: gathers and reductions, several in flight.
void exchange(comm::Mpi& world, int rounds) {
  std::size_t const count = 100000;
  std::vector<float> mine(count);
  std::vector<float> all(count * static_cast<std::size_t>(world.size()));
  std::vector<float> const gradient(all.size());
  std::vector<float> sum(count);
  std::vector<std::byte> scratch(all.size() * sizeof(float));
  for (int round = 0; round < rounds; ++round) {
    auto gather = world.all_gather(1, std::span<float const>(mine), std::span(all));
    auto reduce = world.reduce_scatter(2, std::span(gradient), std::span(sum), std::span(scratch), comm::Into::add);
    reduce.wait();
    gather.wait();
  }
}

[[noreturn]] void fail() { throw std::runtime_error("cannot read 'text.txt'. Pass a file that exists."); }

int program(comm::Mpi& world, std::string const& mode) {
  bool const last = world.rank() == world.size() - 1;
  bool const first = world.rank() == 0;
  if (mode == "well") {
    exchange(world, 5);
  } else if (mode == "all-throw" || (mode == "last-throws-early" && last) || (mode == "first-throws" && first)) {
    fail();
  } else if (mode == "first-is-done" || mode == "last-throws-late") {
    exchange(world, mode == "first-is-done" ? 2 : 20);
    if (last) {
      std::this_thread::sleep_for(300ms);
      fail();
    }
    exchange(world, mode == "first-is-done" ? 0 : 5);
  } else if (mode == "throws-in-flight") {
    std::vector<float> const mine(100000);
    std::vector<float> all(mine.size() * static_cast<std::size_t>(world.size()));
    auto const gather = world.all_gather(1, std::span(mine), std::span(all));
    if (last) {
      fail();
    }
    exchange(world, 5);
  } else if (mode == "last-throws-while-first-computes") {
    std::this_thread::sleep_for(first ? 2000ms : 0ms);
    last ? fail() : exchange(world, 5);
  } else if (mode == "first-is-lost") {
    std::this_thread::sleep_for(first ? 60s : 0s);
    last ? fail() : exchange(world, 5);
  } else if (mode == "disagree") {
    std::vector<float> const mine(3);
    std::vector<float> all(3 * static_cast<std::size_t>(world.size()));
    world.all_gather(last ? 5 : 4, std::span(mine), std::span(all)).wait();
  } else if (mode == "last-is-late") {
    std::this_thread::sleep_for(last ? 1500ms : 0ms);
    exchange(world, 1);
  } else if (mode == "status") {
    return 7;
  } else {
    exchange(world, 5);
  }
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  std::string const mode = argc > 1 ? argv[1] : "well";
  comm::Options const options{.deadline = mode == "last-is-late" ? 500ms : 60s};
  return comm::launch<comm::Mpi>(argc, argv, [&](comm::Mpi& world) { return program(world, mode); }, options);
}
