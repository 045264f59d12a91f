#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <cleave/core/error.hpp>
#include <cleave/core/tensor.hpp>
#include <cleave/data/token_view.hpp>
#include <cleave/detail/core/mapped_file.hpp>

namespace cleave::data {

static_assert(std::endian::native == std::endian::little,
              "cleave::data: token files are read as they lie, little-endian");

/// The token type that a path's extension names: .u16 or .u32. Throws InvalidArgument for any other.
[[nodiscard]] inline TokenType token_type_of(std::string_view path) {
  if (path.ends_with(".u16")) {
    return TokenType::u16;
  }
  if (path.ends_with(".u32")) {
    return TokenType::u32;
  }
  throw InvalidArgument(
      "expected a token file whose name ends in .u16 or .u32, found '{}'; rename it, or name its type", path);
}

/// A memory-mapped file of tokens and nothing else: unsigned 16-bit or 32-bit little-endian numbers. Move-only.
class TokenFile {
public:
  explicit TokenFile(std::string path) : TokenFile(path, token_type_of(path)) {}

  /// Throws FileError when the file is missing, empty, or not a whole number of tokens.
  TokenFile(std::string path, TokenType type)
      : path_(std::make_unique<std::string const>(std::move(path))), type_(type), file_(*path_, "token file") {
    auto const bytes = static_cast<Index>(file_.bytes().size());
    if (bytes == 0 || bytes % bytes_per_token(type_) != 0) {
      throw FileError("expected tokens of {} bytes each in '{}', found {} bytes in all; write the file again, or check "
                      "its token type",
                      bytes_per_token(type_), *path_, bytes);
    }
  }

  [[nodiscard]] std::string const& path() const { return *path_; }
  [[nodiscard]] Index size() const { return static_cast<Index>(file_.bytes().size()) / bytes_per_token(type_); }

  /// All the tokens. Valid as long as this file is open; moving the file does not matter.
  [[nodiscard]] TokenView view() const { return {file_.bytes().data(), size(), type_, *path_}; }
  operator TokenView() const { return view(); }

  /// See TokenView for these.
  [[nodiscard]] std::int32_t operator[](Index position) const { return view()[position]; }
  void copy(Index first, std::span<std::int32_t> out) const { view().copy(first, out); }
  [[nodiscard]] std::int32_t maximum() const { return view().maximum(); }
  void require_below(Index vocabulary) const { view().require_below(vocabulary); }

private:
  std::unique_ptr<std::string const> path_; // views refer to it, so it must not move with the file
  TokenType type_;
  detail::MappedFile file_;
};

} // namespace cleave::data
