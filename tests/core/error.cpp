#include <cleave/core/error.hpp>

#include <stdexcept>
#include <string_view>
#include <type_traits>

#include <doctest/doctest.h>

using namespace cleave;

static_assert(std::is_base_of_v<std::runtime_error, Error>);
static_assert(std::is_base_of_v<Error, InvalidArgument>);
static_assert(std::is_base_of_v<Error, FileError>);
static_assert(std::is_base_of_v<Error, CommunicationError>);

TEST_CASE_TEMPLATE("an error carries its formatted sentence and is caught as an Error", E, InvalidArgument, FileError,
                   CommunicationError) {
  try {
    throw E("expected {} rows, found {}", 4, 3);
  } catch (Error const& error) {
    CHECK_EQ(std::string_view(error.what()), "expected 4 rows, found 3");
  }
}

TEST_CASE("a text that is not a format is kept as it is") {
  CHECK_EQ(std::string_view(Error(std::string("a {brace} from a file")).what()), "a {brace} from a file");
}
