#include <cleave/observe/progress.hpp> // first: the header stands alone

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include <fcntl.h>

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "../support/error_text.hpp"

namespace {

using namespace cleave;
using observe::Progress;
using observe::progress_line;
using observe::ProgressStatus;
using testing::contains;

/// What `show` writes to its file.
template <typename Show>
std::string written(Show show) {
  std::FILE* const file = std::tmpfile();
  REQUIRE_NE(file, nullptr);
  show(file);
  std::string text(static_cast<std::size_t>(std::ftell(file)), '\0');
  std::rewind(file);
  CHECK_EQ(std::fread(text.data(), 1, text.size(), file), text.size());
  std::fclose(file);
  return text;
}

std::vector<std::string> split(std::string const& text, char at) {
  std::vector<std::string> parts(1);
  for (char const c : text) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

constexpr ProgressStatus typical{.loss = 2.10344, .tokens_per_second = 41'250.4, .bytes_per_rank = 123'400'000};

} // namespace

TEST_CASE("A line of 80 columns tells everything") {
  CHECK_EQ(progress_line(420, 2000, typical, 42.3, 80),
           " 420/2000 [==>        ]   21%  loss 2.1034  0:42 left  41,250 tok/s  123 MB/rank");
  CHECK(contains(progress_line(2000, 2000, typical, 0, 80), "2000/2000 [===========]"));
  CHECK(contains(progress_line(0, 2000, typical, 0, 80), "   0/2000 [>"));
}

TEST_CASE("A line is never wider than its columns, and leaves out whole parts") {
  std::vector<ProgressStatus> const all{
      typical,
      {},
      {.loss = 1e30, .tokens_per_second = 1e14, .bytes_per_rank = 1},
      {.loss = -1, .tokens_per_second = -5},
      {.loss = std::numeric_limits<double>::quiet_NaN(), .tokens_per_second = std::numeric_limits<double>::infinity()}};
  for (ProgressStatus const& status : all) {
    for (int columns = -1; columns != 140; ++columns) {
      for (Index step : {0, 1, 999, 1000}) {
        CHECK_LE(static_cast<int>(progress_line(step, 1000, status, 1e9, columns).size()), std::max(columns, 0));
      }
    }
  }
  CHECK_EQ(progress_line(420, 2000, typical, 42.3, 40), " 420/2000   21%  loss 2.1034  0:42 left");
  CHECK_EQ(progress_line(420, 2000, typical, 42.3, 30), " 420/2000   21%  loss 2.1034");
}

TEST_CASE("A log gets about twenty plain lines, the first and the last step among them") {
  for (Index steps : {1, 7, 20, 21, 1000, 2000}) {
    CAPTURE(steps);
    std::string const text = written([&](std::FILE* file) {
      Progress progress(file, steps);
      for (Index step = 1; step <= steps; ++step) {
        progress.update(step, typical);
      }
    });
    CHECK_FALSE(contains(text, "\r"));
    std::vector<std::string> const lines = split(text, '\n');
    CHECK_EQ(lines.back(), ""); // every line ends
    Index const count = static_cast<Index>(lines.size()) - 1;
    CHECK_EQ(count, steps <= 20 ? steps : 21);
    CHECK(contains(lines.front(), fmt::format("1/{}", steps)));
    CHECK(contains(lines[lines.size() - 2], fmt::format("{}/{}", steps, steps)));
  }
}

TEST_CASE("A terminal gets one line that is written over within its width, wiped where the next is shorter") {
  std::string const text = written([&](std::FILE* file) {
    Progress progress(file, 3, {.rewrites = true, .columns = 60});
    progress.update(1, typical);
    progress.print("a message");
    progress.update(3, {.loss = 1});
  });
  CHECK_EQ(text.back(), '\n');
  std::vector<std::string> const drawn = split(text.substr(0, text.size() - 1), '\r');
  REQUIRE_EQ(drawn.size(), 5U); // nothing, step 1, blanks, the message, step 3
  CHECK(contains(drawn[1], "1/3"));
  CHECK_EQ(drawn[2], std::string(drawn[1].size(), ' '));
  CHECK_EQ(drawn[3], "a message\n");
  CHECK(contains(drawn[4], "3/3"));
  for (std::string const& line : drawn) {
    CHECK_LT(line.size(), 60U); // one column less: some terminals wrap at the last
  }
}

TEST_CASE("Steps between redraws cost a terminal nothing, but the last one always shows") {
  std::string const text = written([&](std::FILE* file) {
    Progress progress(file, 100'000, {.rewrites = true, .columns = 80});
    for (Index step = 1; step <= 100'000; ++step) {
      progress.update(step, typical);
    }
  });
  CHECK_LT(split(text, '\r').size(), 10'000U);
  CHECK(contains(text, "100000/100000"));
}

TEST_CASE("A file that is no terminal is a log of 80 columns") {
  written([](std::FILE* file) {
    CHECK_FALSE(observe::Screen::of(file).rewrites);
    CHECK_EQ(observe::Screen::of(file).columns, 80);
  });
}

TEST_CASE("A terminal is written over, unless it calls itself dumb or nothing at all") {
  int const terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE_GE(terminal, 0);
  std::FILE* const file = ::fdopen(terminal, "w");
  char const* const name = std::getenv("TERM");
  std::string const before = name == nullptr ? "" : name;

  ::setenv("TERM", "xterm", 1);
  CHECK(observe::Screen::of(file).rewrites);
  ::setenv("TERM", "dumb", 1);
  CHECK_FALSE(observe::Screen::of(file).rewrites);
  ::unsetenv("TERM");
  CHECK_FALSE(observe::Screen::of(file).rewrites);

  if (name != nullptr) {
    ::setenv("TERM", before.c_str(), 1);
  }
  std::fclose(file);
}
