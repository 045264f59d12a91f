#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

namespace cleave::testing {

/// A file of the PyTorch reference: the folder that CLEAVE_REFERENCE names, else the one beside the tests.
[[nodiscard]] inline std::string reference_file(std::string_view name) {
  char const* const folder = std::getenv("CLEAVE_REFERENCE");
  return std::string(folder != nullptr ? folder : CLEAVE_REFERENCE_DIR) + "/" + std::string(name);
}

} // namespace cleave::testing
