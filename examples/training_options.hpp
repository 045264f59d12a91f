#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <cleave/core/error.hpp>
#include <cleave/core/tensor.hpp>

namespace examples {

using cleave::Index;

/// What the command line of a training program sets.
struct TrainingOptions {
  std::string text{};
  std::string tokens{};
  std::string init{};
  Index steps = 0;
  Index batch = 0; ///< sequences of a step, over all ranks
  Index micro_batches = 1;
  std::string optimizer = "adamw";
  double learning_rate = 0;
  std::vector<double> betas{0.9, 0.99};
  double epsilon = 1e-8;
  double weight_decay = 0.1;
  double momentum = 0;
  bool nesterov = false;
  double clip = 1;
  std::string schedule = "cosine";
  Index warmup = 100;
  double minimum = -1; ///< below 0: a tenth of the learning rate
  std::uint64_t seed = 1;
  double dropout = 0;
  std::string metrics{};
  std::string save{};
  Index sample = 400;
};

namespace {

inline std::string found(std::string const& expected, std::string const& text) {
  return fmt::format("expected {}, found '{}'", expected, text);
}

/// A number that is not below `least`, but below `limit`.
template <typename Number>
CLI::Validator number(Number least, Number limit, std::string const& expected) {
  auto const check = [=](std::string& text) {
    Number value{};
    auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    bool const whole = failure == std::errc() && end == text.data() + text.size();
    return whole && value >= least && value < limit ? "" : found(expected, text); // NaN is neither
  };
  return CLI::Validator(check, "");
}

template <typename Integer>
CLI::Validator whole_number(Integer least, Integer largest) {
  return number(least, largest + 1, fmt::format("a whole number from {} to {}", least, largest));
}
inline CLI::Validator count() { return whole_number(Index{0}, Index{1} << 40); }     // times tokens, still an Index
inline CLI::Validator sequences() { return whole_number(Index{1}, Index{1} << 30); } // the same
inline CLI::Validator seed() { return whole_number(std::uint64_t{0}, std::uint64_t{1} << 63); }
inline CLI::Validator not_negative() {
  return number(0.0, std::numeric_limits<double>::infinity(), "a number of 0 or more");
}
inline CLI::Validator fraction() { return number(0.0, 1.0, "a number from 0 to below 1"); }

inline CLI::Validator either(std::string const& first, std::string const& second) {
  auto const check = [=](std::string& text) {
    return text == first || text == second ? "" : found(first + " or " + second, text);
  };
  return CLI::Validator(check, "");
}

inline CLI::Validator a_name() {
  return CLI::Validator([](std::string& text) { return text.empty() ? found("the name of a file", text) : ""; }, "");
}

inline void add_options(CLI::App& app, TrainingOptions& o) {
  app.option_defaults()->always_capture_default()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("--text", o.text, "File to train on, as bytes (default: the library's own sources)")->check(a_name());
  app.add_option("--tokens", o.tokens, "File of token ids to train on instead: FILE.u16 or FILE.u32")->check(a_name());
  app.add_option("--init", o.init, "Weights to begin with (safetensors)")->check(a_name());
  app.add_option("--save", o.save, "Where the weights go at the end (safetensors); '' for nowhere");
  app.add_option("--steps", o.steps, "Optimizer steps")->check(count());
  app.add_option("--batch", o.batch, "Sequences a step, over all ranks")->check(sequences());
  app.add_option("--micro-batches", o.micro_batches, "Parts that a rank takes its sequences in")->check(sequences());
  app.add_option("--optimizer", o.optimizer, "adamw or sgd")->check(either("adamw", "sgd"));
  app.add_option("--lr", o.learning_rate, "Learning rate")->check(not_negative());
  app.add_option("--betas", o.betas, "AdamW's two decay rates")
      ->expected(2)
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::Throw) // the last two would also be content with one
      ->check(fraction());
  app.add_option("--eps", o.epsilon, "AdamW's epsilon")->check(not_negative());
  app.add_option("--weight-decay", o.weight_decay, "Weight decay, on matrices only")->check(not_negative());
  app.add_option("--momentum", o.momentum, "Momentum of sgd")->check(fraction());
  app.add_flag("--nesterov", o.nesterov, "Nesterov's momentum for sgd");
  app.add_option("--clip", o.clip, "Largest gradient norm; 0: no limit")->check(not_negative());
  app.add_option("--schedule", o.schedule, "constant or cosine")->check(either("constant", "cosine"));
  app.add_option("--warmup", o.warmup, "Steps over which cosine rises")->check(count());
  app.add_option("--min-lr", o.minimum, "Where cosine ends (default: a tenth of --lr)")
      ->default_str("")
      ->check(not_negative());
  app.add_option("--seed", o.seed, "Of first weights, batches, dropout and the sample")->check(seed());
  app.add_option("--dropout", o.dropout, "Probability, from 0 to below 1")->check(fraction());
  app.add_option("--sample", o.sample, "Tokens to generate at the end")->check(count());
  app.add_option("--metrics", o.metrics, "File for a JSON line a step")->check(a_name());
}

/// What no option alone can tell.
inline void require_consistent(TrainingOptions const& options) {
  if (!options.text.empty() && !options.tokens.empty()) {
    throw cleave::InvalidArgument("expected one source of text, found --text and --tokens. Leave one out");
  }
  if (options.optimizer != "sgd" && (options.nesterov || options.momentum != 0)) {
    throw cleave::InvalidArgument(
        "expected --momentum and --nesterov with --optimizer sgd only, found {}. Leave them out, or choose sgd",
        options.optimizer);
  }
  if (options.optimizer == "sgd" && options.nesterov && options.momentum <= 0) {
    throw cleave::InvalidArgument(
        "expected a --momentum above 0 for --nesterov, found {}. Give one, or leave --nesterov out", options.momentum);
  }
}

} // namespace

/// Fills `options` from the command line; the text of --help instead, when that was asked for. Throws InvalidArgument.
inline std::optional<std::string> parse(int argc, char** argv, TrainingOptions& options) {
  CLI::App app(
      "Trains a GPT, fully sharded over the processes that mpirun starts. ./run train --ranks N sets their number.",
      "train_gpt");
  add_options(app, options);
  app.allow_extras();
  try {
    app.parse(argc, argv);
  } catch (CLI::CallForHelp const&) {
    return app.help();
  } catch (CLI::ParseError const& error) {
    throw cleave::InvalidArgument("command line: {}. --help lists the options", error.what());
  }
  if (auto const unknown = app.remaining(); !unknown.empty()) {
    throw cleave::InvalidArgument("command line: expected options, found '{}', which is none. --help lists them",
                                  unknown.front());
  }
  require_consistent(options);
  if (options.minimum < 0) {
    options.minimum = options.learning_rate / 10;
  }
  return std::nullopt;
}

} // namespace examples
