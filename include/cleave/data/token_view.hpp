#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include <cleave/core/error.hpp>
#include <cleave/core/tensor.hpp>

namespace cleave::data {

/// How a token is stored, little-endian.
enum class TokenType { u8, u16, u32 };

[[nodiscard]] constexpr Index bytes_per_token(TokenType type) {
  return type == TokenType::u8 ? 1 : type == TokenType::u16 ? 2 : 4;
}

/// A stretch of tokens in memory or in a mapped file, whatever they are stored as. Owns nothing.
///
/// A text is a view of its bytes (TokenType::u8): the byte-level language model needs no other tokenizer.
class TokenView {
public:
  /// `name` is what messages call the source ("train.u16"); it must live as long as the view.
  TokenView(void const* data, Index size, TokenType type, std::string_view name)
      : data_(static_cast<char const*>(data)), size_(size), type_(type), name_(name) {}
  TokenView(std::span<std::int32_t const> tokens, std::string_view name = "the tokens")
      : TokenView(tokens.data(), static_cast<Index>(tokens.size()), TokenType::u32, name) {}
  TokenView(std::string_view text, std::string_view name)
      : TokenView(text.data(), static_cast<Index>(text.size()), TokenType::u8, name) {}

  [[nodiscard]] Index size() const { return size_; }
  [[nodiscard]] std::string_view name() const { return name_; }

  /// Throws FileError for a token that does not fit in int32.
  [[nodiscard]] std::int32_t operator[](Index position) const {
    std::int32_t token = 0;
    copy(position, {&token, 1});
    return token;
  }

  /// Fills `out` with tokens first, first + 1, ... Throws InvalidArgument beyond the end, and FileError for a token
  /// that does not fit in int32.
  void copy(Index first, std::span<std::int32_t> out) const {
    require_range(first, static_cast<Index>(out.size()));
    switch (type_) {
    case TokenType::u8:
      return copy_as<std::uint8_t>(first, out);
    case TokenType::u16:
      return copy_as<std::uint16_t>(first, out);
    case TokenType::u32:
      return copy_as<std::uint32_t>(first, out);
    }
  }

  /// Tokens first .. first + count. Throws InvalidArgument beyond the end.
  [[nodiscard]] TokenView slice(Index first, Index count) const {
    require_range(first, count);
    TokenView part(data_ + first * bytes_per_token(type_), count, type_, name_);
    part.first_ = first_ + first;
    return part;
  }

  /// The largest token; -1 when there are none. Reads all of them. Throws as `copy`.
  [[nodiscard]] std::int32_t maximum() const {
    std::int32_t largest = -1;
    scan([&](Index, std::int32_t token) { largest = std::max(largest, token); });
    return largest;
  }

  /// Throws InvalidArgument, with position and value, at the first token that is not in [0, vocabulary). Reads them
  /// all: an embedding must not be read beyond its table.
  void require_below(Index vocabulary) const {
    scan([&](Index position, std::int32_t token) {
      if (token >= vocabulary) {
        throw InvalidArgument(
            "expected tokens below the vocabulary size {} in {}, found {} at position {}; use a larger "
            "vocabulary or tokens made for this one",
            vocabulary, name_, token, first_ + position);
      }
    });
  }

private:
  void require_range(Index first, Index count) const {
    if (first < 0 || count < 0 || first > size_ - count) {
      throw InvalidArgument(
          "expected a range within the {} tokens of {}, found {} tokens from position {}; ask for less", size_, name_,
          count, first);
    }
  }

  template <typename Stored>
  void copy_as(Index first, std::span<std::int32_t> out) const {
    // memcpy: a mapped file may put tokens at any address.
    char const* source = data_ + first * static_cast<Index>(sizeof(Stored));
    std::uint32_t seen = 0;
    for (std::int32_t& token : out) {
      Stored stored;
      std::memcpy(&stored, source, sizeof(Stored));
      source += sizeof(Stored);
      token = static_cast<std::int32_t>(stored);
      seen |= stored;
    }
    if (seen > 0x7fffffffU) {
      throw_too_large(first, out);
    }
  }

  [[noreturn]] void throw_too_large(Index first, std::span<std::int32_t const> tokens) const {
    auto const found = std::find_if(tokens.begin(), tokens.end(), [](std::int32_t token) { return token < 0; });
    throw FileError(
        "expected tokens below 2147483648 in {}, found {} at position {}; the tokens must be unsigned 32-bit "
        "little-endian numbers",
        name_, static_cast<std::uint32_t>(*found), first_ + first + (found - tokens.begin()));
  }

  template <typename Visit>
  void scan(Visit visit) const {
    std::int32_t chunk[4096];
    constexpr auto length = static_cast<Index>(std::size(chunk));
    for (Index first = 0; first < size_; first += length) {
      std::span const tokens(chunk, static_cast<std::size_t>(std::min(length, size_ - first)));
      copy(first, tokens);
      for (Index i = 0; i != static_cast<Index>(tokens.size()); ++i) {
        visit(first + i, chunk[i]);
      }
    }
  }

  char const* data_;
  Index size_;
  TokenType type_;
  std::string_view name_;
  Index first_ = 0; // position of the first token in its source, for messages
};

} // namespace cleave::data
