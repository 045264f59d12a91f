#include <cleave/data/sampler.hpp> // first: the header stands alone

#include <algorithm>
#include <fstream>
#include <numeric>
#include <set>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "../support/reference.hpp"

namespace {

using namespace cleave;
using data::DistributedSampler;

bool is_permutation_of_indices(std::vector<Index> order) {
  std::sort(order.begin(), order.end());
  std::vector<Index> expected(order.size());
  std::iota(expected.begin(), expected.end(), Index{0});
  return order == expected;
}

/// All ranks' samples, in the order that one rank would take them.
std::vector<Index> interleaved(Index size, int ranks, DistributedSampler::Options options) {
  std::vector<Index> all(static_cast<std::size_t>(DistributedSampler(size, ranks, 0, options).size() * ranks));
  for (int rank = 0; rank != ranks; ++rank) {
    std::size_t place = static_cast<std::size_t>(rank);
    for (Index sample : DistributedSampler(size, ranks, rank, options).indices()) {
      all[place] = sample;
      place += static_cast<std::size_t>(ranks);
    }
  }
  return all;
}

} // namespace

TEST_CASE("DistributedSampler yields the indices that PyTorch's does") {
  std::ifstream stream(testing::reference_file("distributed_sampler.json"));
  REQUIRE(stream.good());
  nlohmann::json const cases = nlohmann::json::parse(stream);
  REQUIRE_GE(cases.size(), 11U);
  for (nlohmann::json const& expected : cases) {
    int const ranks = expected["world"];
    CAPTURE(expected.dump());
    for (int rank = 0; rank != ranks; ++rank) {
      DistributedSampler sampler(
          expected["size"], ranks, rank,
          {.shuffle = expected["shuffle"], .seed = expected["seed"], .drop_last = expected["drop_last"]});
      sampler.set_epoch(expected["epoch"]);
      std::vector<Index> const indices = expected["indices"][static_cast<std::size_t>(rank)];
      CHECK_EQ(sampler.size(), static_cast<Index>(indices.size()));
      CHECK(sampler.indices() == indices);
    }
  }
}

TEST_CASE("The order of an epoch does not depend on the number of ranks, and the ranks share it out") {
  for (Index size : {1, 7, 24, 100}) {
    std::vector<Index> const order = interleaved(size, 1, {.seed = 5});
    CHECK(is_permutation_of_indices(order));
    for (int ranks : {2, 3, 8, 128}) {
      CAPTURE(size);
      CAPTURE(ranks);
      std::vector<Index> const padded = interleaved(size, ranks, {.seed = 5});
      for (std::size_t i = 0; i != padded.size(); ++i) {
        CHECK_EQ(padded[i], order[i % order.size()]);
      }
      CHECK_LT(static_cast<Index>(padded.size()), size + ranks);
      std::vector<Index> const dropped = interleaved(size, ranks, {.seed = 5, .drop_last = true});
      CHECK(std::equal(dropped.begin(), dropped.end(), order.begin()));
      CHECK_GT(static_cast<Index>(dropped.size()), size - ranks);
    }
  }
}

TEST_CASE("Seed and epoch add up, as in PyTorch, and only the low 32 bits count") {
  auto const order = [](std::uint64_t seed, std::uint64_t epoch) {
    DistributedSampler sampler(50, 1, 0, {.seed = seed});
    sampler.set_epoch(epoch);
    return sampler.indices();
  };
  CHECK(order(3, 4) == order(7, 0));
  CHECK(order(3, 4) != order(3, 5));
  CHECK(order(0xffffffff, 8) == order(0, 7));
}

TEST_CASE("The order for huge data sets is a permutation too, and draws high words first") {
  std::mt19937 random(1);
  CHECK(is_permutation_of_indices(detail::permutation_by_double_words(1000, random)));

  for (std::uint32_t seed = 0; seed != 64; ++seed) {
    std::mt19937 drawn(seed);
    std::mt19937 expected(seed);
    expected.discard(3);
    bool const stays = expected() % 2 == 1; // the low word of the second element's draw picks its place among two
    CHECK_EQ(detail::permutation_by_double_words(2, drawn)[0], stays ? 0 : 1);
  }
}

TEST_CASE("A sampler of nothing yields nothing, and a rank outside its world is refused") {
  CHECK(DistributedSampler(0, 2, 1).indices().empty());
  CHECK_THROWS_AS(DistributedSampler(10, 2, 2), InvalidArgument);
  CHECK_THROWS_AS(DistributedSampler(10, 2, -1), InvalidArgument);
  CHECK_THROWS_AS(DistributedSampler(10, 0, 0), InvalidArgument);
  CHECK_THROWS_AS(DistributedSampler(-1, 2, 0), InvalidArgument);
}
