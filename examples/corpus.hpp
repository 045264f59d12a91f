#pragma once

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <cleave/core/error.hpp>
#include <cleave/data/byte_tokenizer.hpp>
#include <cleave/data/token_file.hpp>
#include <cleave/data/token_view.hpp>

#include "training_options.hpp"

namespace examples {

/// The library's own sources and documentation, in the order of their paths. Throws FileError when they are gone.
inline std::string own_sources() {
  std::filesystem::path const root = CLEAVE_SOURCE_DIR;
  std::vector<std::filesystem::path> files{root / "README.md"};
  for (char const* folder : {"include", "detail", "examples", "tests", "benchmarks"}) {
    if (!std::filesystem::is_directory(root / folder)) {
      throw cleave::FileError("expected the library's own sources in '{}', found no folder '{}'. Pass --text FILE",
                              root.string(), folder);
    }
    for (auto const& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      auto const extension = entry.path().extension();
      if (extension == ".hpp" || extension == ".cpp" || extension == ".md") {
        files.push_back(entry.path());
      }
    }
  }
  std::ranges::sort(files);
  std::string text;
  for (auto const& file : files) {
    text += cleave::data::read_text(file.string());
  }
  return text;
}

/// What is trained on, and its last tenth, which is held out.
class Corpus {
public:
  /// Throws FileError or InvalidArgument when the source is missing, empty, too short for a sequence of `context`
  /// tokens to be held out, or has tokens beyond the vocabulary.
  Corpus(TrainingOptions const& options, Index vocabulary, Index context) {
    if (!options.tokens.empty()) {
      file_.emplace(options.tokens);
      all_ = file_->view();
    } else {
      text_ = options.text.empty() ? own_sources() : cleave::data::read_text(options.text);
      name_ = options.text.empty() ? "the library's own sources" : options.text;
      all_ = cleave::data::TokenView(std::string_view(text_), name_);
    }
    if (Index const least = 10 * context + 1; all_.size() < least) {
      throw cleave::InvalidArgument("expected at least {} tokens in '{}', found {}: the last tenth is held out, and "
                                    "must be longer than a context of {}. Pass a longer text",
                                    least, all_.name(), all_.size(), context);
    }
    all_.require_below(vocabulary);
  }
  Corpus(Corpus const&) = delete; // views point into it
  Corpus& operator=(Corpus const&) = delete;

  [[nodiscard]] cleave::data::TokenView training() const { return all_.slice(0, split()); }
  [[nodiscard]] cleave::data::TokenView validation() const { return all_.slice(split(), all_.size() - split()); }
  [[nodiscard]] std::string_view name() const { return all_.name(); }
  /// Tokens are bytes, so that a sample is text.
  [[nodiscard]] bool is_text() const { return !file_; }

private:
  [[nodiscard]] Index split() const { return all_.size() * 9 / 10; }

  std::string text_;
  std::string name_;
  std::optional<cleave::data::TokenFile> file_;
  cleave::data::TokenView all_{std::string_view{}, ""};
};

} // namespace examples
