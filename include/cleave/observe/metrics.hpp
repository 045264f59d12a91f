#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include <fmt/core.h>

#include <cleave/core/error.hpp>
#include <cleave/core/tensor.hpp>
#include <cleave/detail/core/json_text.hpp>
#include <cleave/detail/core/system_error.hpp>

namespace cleave::observe {

/// What is known after a step.
struct StepMetrics {
  Index step = 0;
  double loss = 0;
  double gradient_norm = 0; ///< before clipping
  double learning_rate = 0;
  double tokens_per_second = 0;
};

/// A file with a line of JSON for each step, which reads back exactly: step, loss, grad_norm, lr, tokens_per_second.
/// Infinity and NaN, which JSON does not have, become null. Each line is in the file when `write` returns.
class MetricsFile {
public:
  /// Replaces what is at the path. Throws FileError.
  explicit MetricsFile(std::string path)
      : path_(std::move(path)), file_(std::fopen(path_.c_str(), "we"), &std::fclose) {
    if (!file_) {
      throw unwritable();
    }
  }

  /// Throws FileError when the disk fails.
  void write(StepMetrics const& metrics) {
    std::string const line =
        fmt::format("{{\"step\": {}, \"loss\": {}, \"grad_norm\": {}, \"lr\": {}, \"tokens_per_second\": {}}}\n",
                    metrics.step, detail::json_number(metrics.loss), detail::json_number(metrics.gradient_norm),
                    detail::json_number(metrics.learning_rate), detail::json_number(metrics.tokens_per_second));
    if (std::fputs(line.c_str(), file_.get()) < 0 || std::fflush(file_.get()) != 0) {
      throw unwritable();
    }
  }

private:
  [[nodiscard]] FileError unwritable() const {
    return FileError(
        "expected to write metrics to '{}', found: {}; check that its folder exists, may be written to and has "
        "room",
        path_, detail::last_system_error());
  }

  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

} // namespace cleave::observe
