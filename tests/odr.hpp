#pragma once

#include <array>
#include <cstddef>

#include <cleave/cleave.hpp>

// Grows with the library: types whose size a macro or a flag of one translation unit could change.
static std::array<std::size_t, 4> sizes_seen_here() {
  return {sizeof(cleave::Matrix<float>), sizeof(cleave::Arena), sizeof(cleave::Name), sizeof(cleave::comm::Tag)};
}

std::array<std::size_t, 4> sizes_seen_elsewhere();
