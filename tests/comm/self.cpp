#include <cleave/comm/self.hpp>

#include <doctest/doctest.h>

#include "conformance.hpp"

using namespace cleave;

TEST_CASE("a world of one conforms") {
  comm::Self world;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    conformance::conforms(world, seed);
  }
  CHECK_EQ(world.size(), 1);
  CHECK_EQ(world.ranks_on_node(), 1);
}
