#include <cleave/data/token_file.hpp> // first: the header stands alone

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include "../support/error_text.hpp"
#include "../support/temporary_folder.hpp"

namespace {

using namespace cleave;
using data::TokenFile;
using testing::contains;
using testing::error_text;
using testing::TemporaryFolder;

static_assert(std::is_move_constructible_v<TokenFile> && !std::is_copy_constructible_v<TokenFile>);

template <typename Stored>
std::string bytes_of(std::vector<Stored> const& tokens) {
  return {reinterpret_cast<char const*>(tokens.data()), tokens.size() * sizeof(Stored)};
}

template <typename Stored>
std::vector<Stored> some_tokens(Index count) {
  std::vector<Stored> tokens;
  for (Index i = 0; i != count; ++i) {
    tokens.push_back(static_cast<Stored>(i * 7919 % 65536));
  }
  return tokens;
}

template <typename Stored>
void reads_what_was_written(std::string const& name) {
  TemporaryFolder const folder;
  std::vector<Stored> const tokens = some_tokens<Stored>(10'000);
  TokenFile const file(folder.write(name, bytes_of(tokens)));
  REQUIRE_EQ(file.size(), 10'000);

  std::vector<std::int32_t> copy(10'000);
  file.copy(0, copy);
  for (std::size_t i = 0; i != tokens.size(); ++i) {
    CHECK_EQ(copy[i], static_cast<std::int32_t>(tokens[i]));
    CHECK_EQ(file[static_cast<Index>(i)], copy[i]);
  }
  CHECK_EQ(file.maximum(), *std::max_element(copy.begin(), copy.end()));
}

} // namespace

TEST_CASE("A token file reads what was written, as u16 and u32, by its extension") {
  reads_what_was_written<std::uint16_t>("a.u16");
  reads_what_was_written<std::uint32_t>("a.u32");
}

TEST_CASE("A named type wins over the file's name, which otherwise has to tell it") {
  TemporaryFolder const folder;
  std::string const path = folder.write("tokens.bin", bytes_of<std::uint16_t>({1, 2, 3, 4}));
  CHECK_EQ(TokenFile(path, data::TokenType::u16).size(), 4);
  CHECK_EQ(TokenFile(path, data::TokenType::u32)[0], 0x20001);
  CHECK(contains(error_text<InvalidArgument>([&] { TokenFile{path}; }), path));
}

TEST_CASE("A view of a token file outlives the file's move") {
  TemporaryFolder const folder;
  TokenFile first(folder.write("a.u16", bytes_of<std::uint16_t>({5, 6, 7})));
  data::TokenView const view = first.view().slice(1, 2);
  TokenFile const second = std::move(first);
  CHECK_EQ(view[1], 7);
  CHECK_EQ(view.name(), second.path());
}

TEST_CASE("A file that is missing, empty, a folder or cut within a token is an error that names it") {
  TemporaryFolder const folder;
  std::string const missing = error_text<FileError>([&] { TokenFile(folder.path("none.u16")); });
  CHECK(contains(missing, folder.path("none.u16")));
  CHECK(contains(missing, "No such file"));

  CHECK(contains(error_text<FileError>([&] { TokenFile(folder.write("empty.u16", "")); }), "found 0 bytes"));
  CHECK(contains(error_text<FileError>([&] { TokenFile(folder.write("odd.u32", "123456")); }), "found 6 bytes"));
  CHECK(contains(error_text<FileError>([&] { TokenFile(folder.path(), data::TokenType::u16); }), "a folder"));
}

TEST_CASE("require_below names file, position and value of the first token beyond the vocabulary") {
  TemporaryFolder const folder;
  std::vector<std::uint16_t> tokens(9'000, 10);
  tokens[8'500] = 300;
  tokens[8'600] = 400;
  TokenFile const file(folder.write("a.u16", bytes_of(tokens)));
  CHECK_NOTHROW(file.require_below(401));
  std::string const text = error_text<InvalidArgument>([&] { file.require_below(256); });
  for (char const* part : {"a.u16", "300", "position 8500", "256"}) {
    CAPTURE(part);
    CHECK(contains(text, part));
  }
  // A slice counts positions in the file.
  CHECK_EQ(error_text<InvalidArgument>([&] { file.view().slice(8'400, 200).require_below(256); }), text);
}

TEST_CASE("A token that does not fit in int32 is an error wherever it is read") {
  TemporaryFolder const folder;
  TokenFile const file(folder.write("a.u32", bytes_of<std::uint32_t>({1, 2147483647, 2147483648, 4})));
  CHECK_EQ(file[1], 2147483647);
  for (std::string const& text : {error_text<FileError>([&] { static_cast<void>(file[2]); }),
                                  error_text<FileError>([&] { static_cast<void>(file.maximum()); }),
                                  error_text<FileError>([&] { file.require_below(1'000'000'000'000); })}) {
    CHECK(contains(text, "found 2147483648 at position 2"));
  }
}
