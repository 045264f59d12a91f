#include <cleave/core/name.hpp>

#include <string>
#include <string_view>

#include <doctest/doctest.h>

using namespace cleave;

static_assert(Name("h").then(3).then("attn").then("weight") == Name("h.3.attn.weight"));
static_assert(Name().then("wte") == Name("wte"), "no dot before the first part");
static_assert(Name("wte").then("") == Name("wte"), "no dot before nothing");
static_assert(Name("h").then(0).view() == "h.0");
static_assert(Literal("wte").view() == "wte");
static_assert(!(Name("a") == Name("ab")));

template <Literal Text>
struct Labelled {
  static constexpr std::string_view label = Text.view();
};
static_assert(Labelled<"ln_f">::label == "ln_f", "a literal is a template argument");

TEST_CASE("numbers are written as std::to_string writes them") {
  for (int const number : {0, 7, 10, 99, 100, 12345, 2147483647}) {
    CHECK_EQ(std::string(Name("h").then(number).view()), "h." + std::to_string(number));
  }
}

TEST_CASE("a name may be as long as its capacity, and not longer") {
  std::string const longest(Name::capacity, 'x');
  CHECK_EQ(Name(longest).view(), longest);
  CHECK_THROWS(static_cast<void>(Name(longest + "x")));
  CHECK_THROWS(static_cast<void>(Name(longest).then("x")));
}
