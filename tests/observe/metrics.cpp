#include <cleave/observe/metrics.hpp> // first: the header stands alone

#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "../support/error_text.hpp"
#include "../support/temporary_folder.hpp"

namespace {

using namespace cleave;
using observe::MetricsFile;

std::vector<nlohmann::json> lines_of(std::string const& path) {
  std::ifstream stream(path);
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(nlohmann::json::parse(line));
  }
  return lines;
}

} // namespace

TEST_CASE("Every number reads back as the same double, as soon as its line is written") {
  testing::TemporaryFolder const folder;
  MetricsFile file(folder.path("m.jsonl"));
  std::vector<double> const values{0, -0.0, 0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, 123456789012345680.0, 2};
  for (std::size_t i = 0; i != values.size(); ++i) {
    double const value = values[i];
    file.write({.step = static_cast<Index>(i),
                .loss = value,
                .gradient_norm = 2 * value,
                .learning_rate = value / 3,
                .tokens_per_second = std::nextafter(value, 1)});
    std::vector<nlohmann::json> const lines = lines_of(folder.path("m.jsonl"));
    REQUIRE_EQ(lines.size(), i + 1);
    CHECK_EQ(lines[i].size(), 5U);
    CHECK_EQ(lines[i]["step"].get<Index>(), static_cast<Index>(i));
    CHECK_EQ(lines[i]["loss"].get<double>(), value);
    CHECK_EQ(std::signbit(lines[i]["loss"].get<double>()), std::signbit(value));
    if (std::isfinite(2 * value)) {
      CHECK_EQ(lines[i]["grad_norm"].get<double>(), 2 * value);
    }
    CHECK_EQ(lines[i]["lr"].get<double>(), value / 3);
    CHECK_EQ(lines[i]["tokens_per_second"].get<double>(), std::nextafter(value, 1));
  }
}

TEST_CASE("What JSON cannot say becomes null, and the line stays JSON") {
  testing::TemporaryFolder const folder;
  MetricsFile file(folder.path("m.jsonl"));
  file.write(
      {.loss = std::numeric_limits<double>::quiet_NaN(), .gradient_norm = std::numeric_limits<double>::infinity()});
  nlohmann::json const line = lines_of(folder.path("m.jsonl")).at(0);
  CHECK(line["loss"].is_null());
  CHECK(line["grad_norm"].is_null());
  CHECK_EQ(line["lr"].get<double>(), 0);
}

TEST_CASE("A file that cannot be opened or written is an error that names it") {
  testing::TemporaryFolder const folder;
  std::string const path = folder.path("none/m.jsonl");
  CHECK(testing::contains(testing::error_text<FileError>([&] { MetricsFile{path}; }), path));
  MetricsFile full("/dev/full");
  CHECK(testing::contains(testing::error_text<FileError>([&] { full.write({}); }), "No space left"));
}
