#include <cleave/observe/format.hpp> // first: the header stands alone

#include <limits>

#include <doctest/doctest.h>

using namespace cleave::observe;

TEST_CASE("Bytes read in powers of 1000, and rounding never shows a thousand") {
  CHECK_EQ(format_bytes(0), "0 B");
  CHECK_EQ(format_bytes(999), "999 B");
  CHECK_EQ(format_bytes(1000), "1.0 kB");
  CHECK_EQ(format_bytes(9'949), "9.9 kB");
  CHECK_EQ(format_bytes(9'960), "10 kB");
  CHECK_EQ(format_bytes(999'499), "999 kB");
  CHECK_EQ(format_bytes(999'500), "1.0 MB");
  CHECK_EQ(format_bytes(1'234'567'890), "1.2 GB");
  CHECK_EQ(format_bytes(std::numeric_limits<cleave::Index>::max()), "9.2 EB");
}

TEST_CASE("Durations read as on a clock, and carry when rounded") {
  CHECK_EQ(format_duration(0), "0:00");
  CHECK_EQ(format_duration(59.4), "0:59");
  CHECK_EQ(format_duration(59.6), "1:00");
  CHECK_EQ(format_duration(3599.9), "1:00:00");
  CHECK_EQ(format_duration(3723), "1:02:03");
  CHECK_EQ(format_duration(3 * 86400 + 4 * 3600 + 5 * 60), "3 d 04:05");
  CHECK_EQ(format_duration(std::numeric_limits<double>::quiet_NaN()), "--:--");
  CHECK_EQ(format_duration(std::numeric_limits<double>::infinity()), "--:--");
}

TEST_CASE("Counts have a comma every three digits") {
  CHECK_EQ(format_count(0), "0");
  CHECK_EQ(format_count(999), "999");
  CHECK_EQ(format_count(1000), "1,000");
  CHECK_EQ(format_count(-100), "-100");
  CHECK_EQ(format_count(-1234567), "-1,234,567");
  CHECK_EQ(format_count(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}
