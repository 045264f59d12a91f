#include <cleave/sharded/flat_layout.hpp>

#include <cstddef>

#include <doctest/doctest.h>

#include <cleave/layers/activations.hpp>
#include <cleave/layers/embedding.hpp>
#include <cleave/layers/layer_norm.hpp>
#include <cleave/layers/linear.hpp>
#include <cleave/layers/named.hpp>
#include <cleave/layers/sequential.hpp>
#include <cleave/layers/tied.hpp>
#include <cleave/models/gpt.hpp>
#include <cleave/sharded/sharded_module.hpp>

using namespace cleave;

namespace {

using Unit = Sequential<Named<"a", Linear<3, 5>>, Gelu, Named<"norm", LayerNorm<5>>, Named<"b", Linear<5, 2>>>;
constexpr auto const& layout = detail::unit_layout<Unit>;

using TiedUnit = Sequential<Named<"a", Linear<3, 3>>, Tied<"a.weight", Linear<3, 3>>>;
constexpr auto const& tied = detail::unit_layout<TiedUnit>;

/// Whether the placements tile the flat parameter without gap or overlap.
template <std::size_t N>
constexpr bool tiles(FlatLayout<N> const& flat) {
  Index next = 0;
  for (Placement const& placement : flat.placements) {
    if (placement.offset != next || placement.size() <= 0) {
      return false;
    }
    next += placement.size();
  }
  return next == flat.size;
}

} // namespace

static_assert(tiles(layout) && layout.size == 15 + 5 + 5 + 5 + 10 + 2 && layout.placements.size() == 6);
static_assert(layout.find("b.weight")->offset == 30 && layout.find("b.weight")->parameter.shape == Extents{2, 5});
static_assert(layout.find("b") == nullptr && layout.find("") == nullptr);
static_assert(tiles(tied) && tied.size == 9 + 3 + 3, "a tied parameter takes no place of its own");
static_assert(tiles(detail::unit_layout<models::gpt::Block<models::gpt::Config{}>>));

static_assert(ShardLayout{100, 1}.shard() == 100 && ShardLayout{100, 3}.shard() == 34, "short slices are not padded");
static_assert(ShardLayout{10'000, 3}.shard() == 3360 && ShardLayout{10'000, 3}.padded() == 10'080);

TEST_CASE("for any size and number of ranks, slices are equal, cover everything once, and pad little") {
  for (Index size = 1; size < 200'000; size = size * 9 / 8 + 1) {
    for (int const ranks : {1, 2, 3, 4, 7, 8, 64, 128}) {
      ShardLayout const shards{size, ranks};
      Index next = 0;
      for (int rank = 0; rank != ranks; ++rank) {
        REQUIRE_EQ(shards.first(rank), next);
        REQUIRE_GE(shards.count(rank), 0);
        REQUIRE_LE(shards.count(rank), shards.shard());
        next += shards.count(rank);
      }
      REQUIRE_EQ(next, size);
      Index const exact = (size + ranks - 1) / ranks;
      CHECK_GE(shards.shard(), exact);
      CHECK_LE(shards.shard() - exact, exact * 32 / 1000);
      CHECK_EQ(shards.padded(), shards.shard() * ranks);
      bool const aligned = shards.shard() % 32 == 0;
      CHECK((aligned || exact < 32 * 32));
    }
  }
}
