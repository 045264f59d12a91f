#pragma once

#include <string>

namespace cleave::testing {

/// The text of the E that `run` throws; empty when it throws nothing. Anything else passes through and fails the test.
template <typename E, typename Run>
[[nodiscard]] std::string error_text(Run run) {
  try {
    run();
  } catch (E const& error) {
    return error.what();
  }
  return "";
}

[[nodiscard]] inline bool contains(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

} // namespace cleave::testing
