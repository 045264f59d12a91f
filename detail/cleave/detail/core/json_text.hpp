#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include <fmt/core.h>

namespace cleave::detail {

/// A JSON string of this text, which must be UTF-8.
[[nodiscard]] inline std::string json_string(std::string_view text) {
  std::string quoted = "\"";
  for (char const c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

/// A JSON number that reads back as the same double, and as one and not as an integer (which loses the sign of -0);
/// null for what JSON cannot say: infinity and NaN.
[[nodiscard]] inline std::string json_number(double value) {
  if (!std::isfinite(value)) {
    return "null";
  }
  std::string text = fmt::format("{:.17g}", value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

} // namespace cleave::detail
