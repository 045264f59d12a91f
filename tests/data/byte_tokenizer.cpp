#include <cleave/data/byte_tokenizer.hpp> // first: the header stands alone

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../support/error_text.hpp"
#include "../support/temporary_folder.hpp"

namespace {

using namespace cleave;
using data::ByteTokenizer;
using testing::contains;
using testing::error_text;

std::string every_byte() {
  std::string text;
  for (int byte = 255; byte >= 0; --byte) {
    text.push_back(static_cast<char>(byte));
  }
  return text;
}

} // namespace

TEST_CASE("Decoding undoes encoding, for every byte") {
  std::vector<std::int32_t> const tokens = ByteTokenizer::encode(every_byte());
  for (std::size_t i = 0; i != 256; ++i) {
    CHECK_EQ(tokens[i], static_cast<std::int32_t>(255 - i));
  }
  CHECK_EQ(ByteTokenizer::decode(tokens), every_byte());
}

TEST_CASE("What is not a byte does not decode") {
  for (std::int32_t token : {-1, 256, -100}) {
    std::vector<std::int32_t> const tokens{65, token};
    CHECK(contains(error_text<InvalidArgument>([&] { static_cast<void>(ByteTokenizer::decode(tokens)); }),
                   "found " + std::to_string(token) + " at position 1"));
  }
}

TEST_CASE("read_text reads all bytes, and refuses a file that is missing or empty") {
  testing::TemporaryFolder const folder;
  CHECK_EQ(data::read_text(folder.write("text", every_byte())), every_byte());
  CHECK(contains(error_text<FileError>([&] { static_cast<void>(data::read_text(folder.path("none"))); }), "none"));
  CHECK(contains(error_text<FileError>([&] { static_cast<void>(data::read_text(folder.write("nil", ""))); }), "nil"));
}
