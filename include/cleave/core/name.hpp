#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace cleave {

/// A string that can be a template argument: Named<"wte", Embedding<...>>.
template <std::size_t N>
struct Literal {
  char text[N] = {};

  consteval Literal(char const (&source)[N]) { std::copy_n(source, N, text); }
  [[nodiscard]] constexpr std::string_view view() const { return {text, N - 1}; }
};

/// A dotted parameter name ("h.3.attn.c_attn.weight") that a constant expression can build.
class Name {
public:
  static constexpr std::size_t capacity = 79;

  constexpr Name() = default;
  constexpr Name(std::string_view text) { append(text); }
  constexpr Name(char const* text) : Name(std::string_view(text)) {}

  [[nodiscard]] constexpr std::string_view view() const { return {text_, size_}; }
  constexpr operator std::string_view() const { return view(); }

  /// This name, a dot, and `part`; without the dot when either is empty.
  [[nodiscard]] constexpr Name then(std::string_view part) const {
    Name joined = *this;
    if (size_ != 0 && !part.empty()) {
      joined.append(".");
    }
    joined.append(part);
    return joined;
  }
  [[nodiscard]] constexpr Name then(int number) const {
    char digits[10] = {};
    std::size_t first = sizeof(digits);
    do {
      digits[--first] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    return then({digits + first, sizeof(digits) - first});
  }

  friend constexpr bool operator==(Name const& a, Name const& b) { return a.view() == b.view(); }

private:
  // A name that does not fit ends constant evaluation here: shorten it, or raise Name::capacity.
  constexpr void append(std::string_view part) {
    if (size_ + part.size() > capacity) {
      throw "cleave::Name: longer than Name::capacity characters";
    }
    std::copy_n(part.data(), part.size(), text_ + size_);
    size_ += part.size();
  }

  char text_[capacity + 1] = {};
  std::size_t size_ = 0;
};

} // namespace cleave
