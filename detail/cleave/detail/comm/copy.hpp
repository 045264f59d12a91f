#pragma once

#include <cstddef>
#include <cstring>

namespace cleave::detail {

/// memcpy, unless there is nothing to copy or it is already there.
inline void copy_bytes(void* to, void const* from, std::size_t bytes) {
  if (bytes != 0 && to != from) {
    std::memcpy(to, from, bytes);
  }
}

} // namespace cleave::detail
