#include <cleave/data/token_view.hpp> // first: the header stands alone

#include <cstdint>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "../support/error_text.hpp"

namespace {

using namespace cleave;
using data::TokenView;

} // namespace

TEST_CASE("A text is a view of its bytes") {
  TokenView const view(std::string_view("a\xff"), "the text");
  REQUIRE_EQ(view.size(), 2);
  CHECK_EQ(view[0], 'a');
  CHECK_EQ(view[1], 255);
  CHECK_EQ(view.maximum(), 255);
}

TEST_CASE("A slice sees the tokens at its place") {
  std::vector<std::int32_t> tokens;
  for (std::int32_t i = 0; i != 100; ++i) {
    tokens.push_back(i * i);
  }
  TokenView const view{std::span<std::int32_t const>(tokens)};
  for (Index first = 0; first <= 100; first += 10) {
    TokenView const part = view.slice(first, 100 - first).slice(0, (100 - first) / 2);
    for (Index i = 0; i != part.size(); ++i) {
      CHECK_EQ(part[i], tokens[static_cast<std::size_t>(first + i)]);
    }
  }
}

TEST_CASE("Ranges beyond the end are refused, and empty ones are not") {
  TokenView const view(std::string_view("abc"), "the text");
  std::int32_t out[4] = {};
  CHECK_THROWS_AS(view.copy(0, out), InvalidArgument);
  CHECK_THROWS_AS(view.copy(-1, std::span(out, 1)), InvalidArgument);
  CHECK_THROWS_AS(static_cast<void>(view[3]), InvalidArgument);
  CHECK_THROWS_AS(static_cast<void>(view.slice(2, 2)), InvalidArgument);
  CHECK_EQ(view.slice(3, 0).size(), 0);
  CHECK_EQ(view.slice(3, 0).maximum(), -1);
}

TEST_CASE("A negative token is refused, in the words of its source") {
  std::vector<std::int32_t> const tokens{3, -1};
  TokenView const view(std::span<std::int32_t const>(tokens), "my tokens");
  CHECK(testing::contains(testing::error_text<FileError>([&] { view.require_below(10); }), "my tokens"));
}
