#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <cleave/data/byte_tokenizer.hpp>
#include <cleave/data/token_file.hpp>
#include <cleave/data/token_view.hpp>

#include "training_options.hpp"

namespace examples {

/// The library's own sources and documentation, in the order of their paths.
inline std::string own_sources() {
  std::filesystem::path const root = CLEAVE_SOURCE_DIR;
  std::vector<std::filesystem::path> files{root / "README.md"};
  for (char const* folder : {"include", "detail", "examples", "tests", "benchmarks"}) {
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
  /// Throws FileError or InvalidArgument when the source is missing, empty, or has tokens beyond the vocabulary.
  Corpus(TrainingOptions const& options, Index vocabulary) {
    if (!options.tokens.empty()) {
      file_.emplace(options.tokens);
      all_ = file_->view();
    } else {
      text_ = options.text.empty() ? own_sources() : cleave::data::read_text(options.text);
      name_ = options.text.empty() ? "the library's own sources" : options.text;
      all_ = cleave::data::TokenView(std::string_view(text_), name_);
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
