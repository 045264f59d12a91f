#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cleave/core/tensor.hpp>
#include <cleave/observe/format.hpp>

namespace cleave::observe {

/// Where progress is shown.
struct Screen {
  bool rewrites = false; ///< a terminal, on which a line can be written over
  int columns = 80;

  /// What this file is. A terminal that calls itself dumb (TERM) is a log: so mpirun's terminals are told of a pipe.
  [[nodiscard]] static Screen of(std::FILE* out) {
    int const number = ::fileno(out);
    winsize size{};
    bool const known = ::ioctl(number, TIOCGWINSZ, &size) == 0 && size.ws_col != 0;
    char const* const name = std::getenv("TERM");
    bool const writes_over = ::isatty(number) != 0 && name != nullptr && std::string_view(name) != "dumb";
    return {writes_over, known ? size.ws_col : 80};
  }
};

/// What is shown beside the bar.
struct ProgressStatus {
  double loss = 0;
  double tokens_per_second = 0;
  Index bytes_per_rank = 0; ///< 0: not shown
};

} // namespace cleave::observe

namespace cleave::detail {

[[nodiscard]] inline std::string token_rate(double tokens_per_second) {
  bool const shown = tokens_per_second > 0 && tokens_per_second < 1e15;
  return shown ? observe::format_count(std::llround(tokens_per_second)) + " tok/s" : "";
}

/// " [===>    ]", as wide as that.
[[nodiscard]] inline std::string bar(Index step, Index steps, std::size_t width) {
  auto const inside = static_cast<Index>(width) - 3;
  auto const filled = static_cast<std::size_t>(std::clamp<Index>(step * inside / std::max<Index>(steps, 1), 0, inside));
  std::string text = std::string(filled, '=') + ">";
  text.resize(width - 3, ' '); // cuts the tip off when all is done
  return " [" + text + "]";
}

} // namespace cleave::detail

namespace cleave::observe {

/// One line of progress, at most `columns` wide. What does not fit is left out, the least telling first: the bar, then
/// memory, tokens a second and time left.
///
///    420/2000 [==>        ]   21%  loss 2.1034  0:42 left  41,250 tok/s  123 MB/rank
[[nodiscard]] inline std::string progress_line(Index step, Index steps, ProgressStatus const& status,
                                               double seconds_left, int columns) {
  std::string const total = fmt::format("{}", steps);
  std::string const front = fmt::format("{:>{}}/{}", step, total.size(), total);
  std::array<std::string, 4> const parts{
      fmt::format("{:3}%  loss {:.4f}", step * 100 / std::max<Index>(steps, 1), status.loss),
      fmt::format("{} left", format_duration(seconds_left)),
      detail::token_rate(status.tokens_per_second),
      status.bytes_per_rank == 0 ? "" : format_bytes(status.bytes_per_rank) + "/rank",
  };
  auto const room = static_cast<std::size_t>(std::max(columns, 0));
  std::string back;
  for (std::string const& part : parts) {
    if (!part.empty() && front.size() + back.size() + 2 + part.size() <= room) {
      back += "  " + part;
    }
  }
  constexpr std::size_t shortest_bar = 9;
  constexpr std::size_t longest_bar = 43;
  std::size_t const left = room - std::min(room, front.size() + back.size());
  std::string const bar = left < shortest_bar ? "" : detail::bar(step, steps, std::min(left, longest_bar));
  return (front + bar + back).substr(0, room);
}

/// Shows a program's progress: on a terminal a line that is written over, elsewhere (a log) about twenty lines in all.
/// One rank has one of these; the others have none.
class Progress {
public:
  /// `out` must live as long.
  Progress(std::FILE* out, Index steps) : Progress(out, steps, Screen::of(out)) {}
  Progress(std::FILE* out, Index steps, Screen screen) : out_(out), steps_(steps), screen_(screen) {}
  Progress(Progress const&) = delete;
  Progress& operator=(Progress const&) = delete;
  ~Progress() { finish(); }

  /// After `step` of the steps are done.
  void update(Index step, ProgressStatus const& status) {
    if (is_due(step)) {
      auto const now = Clock::now();
      double const elapsed = std::chrono::duration<double>(now - start_).count();
      double const left = elapsed / static_cast<double>(std::max<Index>(step, 1)) * static_cast<double>(steps_ - step);
      show(progress_line(step, steps_, status, left, screen_.rewrites ? screen_.columns - 1 : screen_.columns));
      shown_at_ = now;
      shown_step_ = step;
    }
  }

  /// A line of its own, above the bar.
  void print(std::string_view line) {
    clear();
    write(fmt::format("{}\n", line));
  }

  /// Leaves the last line standing. Also done by the destructor, so that an error message starts a line.
  void finish() {
    if (std::exchange(width_, 0) != 0) {
      write("\n");
    }
  }

private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds redraw_interval{100};
  static constexpr Index lines_of_a_log = 20;

  [[nodiscard]] bool is_due(Index step) const {
    if (step == steps_ || shown_step_ == 0) {
      return step != shown_step_;
    }
    return screen_.rewrites ? Clock::now() - shown_at_ >= redraw_interval : line_of(step) != line_of(shown_step_);
  }
  [[nodiscard]] Index line_of(Index step) const { return step * lines_of_a_log / std::max<Index>(steps_, 1); }

  void show(std::string const& line) {
    if (screen_.rewrites) {
      // Spaces, and not an escape sequence, wipe what the line before leaves: every terminal knows them.
      write(fmt::format("\r{:<{}}", line, width_));
      width_ = line.size();
    } else {
      write(line + "\n");
    }
  }

  void clear() {
    if (width_ != 0) {
      write(fmt::format("\r{:<{}}\r", "", std::exchange(width_, 0)));
    }
  }

  // Training goes on when a terminal is closed or a log's disk is full.
  void write(std::string const& text) const {
    std::fputs(text.c_str(), out_);
    std::fflush(out_);
  }

  std::FILE* out_;
  Index steps_;
  Screen screen_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point shown_at_{};
  Index shown_step_ = 0;
  std::size_t width_ = 0; // of the line that stands unfinished on the terminal
};

} // namespace cleave::observe
