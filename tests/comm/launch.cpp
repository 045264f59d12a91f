#include <cleave/comm/launch.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <string_view>

#include <cleave/comm/self.hpp>

// How several ranks end is tested by launch.py.

using namespace cleave;

namespace {

template <typename F>
int launched(F program, std::string& printed) {
  auto const print = [&](std::string_view text) { printed += text; };
  return comm::launch<comm::Self>(0, nullptr, program, {}, print);
}

} // namespace

TEST_CASE("a program's status is launch's") {
  std::string printed;
  CHECK_EQ(launched([](comm::Self& world) { return world.size() + 6; }, printed), 7);
  CHECK(printed.empty());
}

TEST_CASE("an exception is one printed line and status 2") {
  std::string printed;
  auto const throws = [](comm::Self&) -> int { throw std::runtime_error("no text. Pass --text."); };
  CHECK_EQ(launched(throws, printed), 2);
  CHECK_EQ(printed, "error: no text. Pass --text.\n");
}

TEST_CASE("what is no std::exception still ends in one line") {
  std::string printed;
  CHECK_EQ(launched([](comm::Self&) -> int { throw 5; }, printed), 2);
  CHECK_EQ(printed.substr(0, 7), "error: ");
  CHECK_EQ(printed.find('\n'), printed.size() - 1);
}
