#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cleave/core/error.hpp>
#include <cleave/core/tensor.hpp>
#include <cleave/detail/core/mapped_file.hpp>

namespace cleave::data {

/// A token is a byte: any text of any encoding goes in and comes back unchanged.
struct ByteTokenizer {
  static constexpr Index vocabulary = 256;

  [[nodiscard]] static std::vector<std::int32_t> encode(std::string_view text) {
    std::vector<std::int32_t> tokens(text.size());
    for (std::size_t i = 0; i != text.size(); ++i) {
      tokens[i] = static_cast<unsigned char>(text[i]);
    }
    return tokens;
  }

  /// Throws InvalidArgument for a token that is not in 0 .. 255.
  [[nodiscard]] static std::string decode(std::span<std::int32_t const> tokens) {
    std::string text;
    text.reserve(tokens.size());
    for (std::int32_t const token : tokens) {
      if (token < 0 || token >= vocabulary) {
        throw InvalidArgument("expected bytes (tokens 0 to 255) to decode, found {} at position {}; use the tokenizer "
                              "that made the tokens",
                              token, text.size());
      }
      text.push_back(static_cast<char>(token));
    }
    return text;
  }
};

/// The bytes of a file. Throws FileError when it is missing, unreadable or empty.
[[nodiscard]] inline std::string read_text(std::string const& path) {
  detail::MappedFile const file(path, "text file");
  std::span const bytes = file.bytes();
  if (bytes.empty()) {
    throw FileError("expected a text in '{}', found an empty file; name a file with text in it", path);
  }
  return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

} // namespace cleave::data
