#pragma once

#include <cerrno>
#include <string>
#include <system_error>

namespace cleave::detail {

/// What the last failed system call of this thread says ("No such file or directory").
[[nodiscard]] inline std::string last_system_error() { return std::generic_category().message(errno); }

} // namespace cleave::detail
