#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include <cleave/core/tensor.hpp>

namespace cleave::observe {

/// "950 B", "1.2 GB": powers of 1000, three digits at most.
[[nodiscard]] inline std::string format_bytes(Index bytes) {
  constexpr std::array<std::string_view, 7> units{"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (std::abs(value) >= 999.5 && unit + 1 != units.size()) {
    value /= 1000;
    ++unit;
  }
  bool const tenths = unit != 0 && std::abs(value) < 9.95;
  return fmt::format("{:.{}f} {}", value, tenths ? 1 : 0, units[unit]);
}

/// "0:07", "12:34", "1:02:03", "3 d 04:05". Seconds are rounded; "--:--" for what is not known (NaN, infinity).
[[nodiscard]] inline std::string format_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e12) {
    return "--:--";
  }
  std::int64_t const whole = std::llround(seconds);
  std::int64_t const minutes = whole / 60;
  std::int64_t const hours = minutes / 60;
  if (hours >= 24) {
    return fmt::format("{} d {:02}:{:02}", hours / 24, hours % 24, minutes % 60);
  }
  return hours != 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes % 60, whole % 60)
                    : fmt::format("{}:{:02}", minutes, whole % 60);
}

/// "1,234,567".
[[nodiscard]] inline std::string format_count(std::int64_t count) {
  std::string text = fmt::format("{}", count);
  Index const first_digit = count < 0 ? 1 : 0;
  for (Index place = static_cast<Index>(text.size()) - 3; place > first_digit; place -= 3) {
    text.insert(static_cast<std::size_t>(place), 1, ',');
  }
  return text;
}

} // namespace cleave::observe
