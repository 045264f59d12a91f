#include <cleave/comm/tag.hpp>

#include <doctest/doctest.h>

#include <type_traits>

using namespace cleave;

static_assert(sizeof(comm::Tag) == 16 && std::has_unique_object_representations_v<comm::Tag>,
              "tags travel as bytes: small, and without padding");

TEST_CASE("tags differ in each of their parts") {
  using enum comm::Operation;
  comm::Tag const tag{.sequence = 1, .unit = 2, .operation = all_gather, .element_bytes = 4, .count = 5};
  CHECK(tag == comm::Tag{.sequence = 1, .unit = 2, .operation = all_gather, .element_bytes = 4, .count = 5});
  CHECK(tag != comm::Tag{.sequence = 9, .unit = 2, .operation = all_gather, .element_bytes = 4, .count = 5});
  CHECK(tag != comm::Tag{.sequence = 1, .unit = 9, .operation = all_gather, .element_bytes = 4, .count = 5});
  CHECK(tag != comm::Tag{.sequence = 1, .unit = 2, .operation = broadcast, .element_bytes = 4, .count = 5});
  CHECK(tag != comm::Tag{.sequence = 1, .unit = 2, .operation = all_gather, .element_bytes = 9, .count = 5});
  CHECK(tag != comm::Tag{.sequence = 1, .unit = 2, .operation = all_gather, .element_bytes = 4, .count = 9});
}
