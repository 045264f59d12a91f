#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

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

inline void add_options(CLI::App& app, TrainingOptions& o) {
  app.add_option("--text", o.text, "File to train on, as bytes (default: the library's own sources)");
  app.add_option("--tokens", o.tokens, "File of token ids to train on instead: FILE.u16 or FILE.u32");
  app.add_option("--init", o.init, "Weights to begin with (safetensors)");
  app.add_option("--save", o.save, "Where the weights go at the end (safetensors)")->capture_default_str();
  app.add_option("--steps", o.steps, "Optimizer steps")->capture_default_str()->check(CLI::NonNegativeNumber);
  app.add_option("--batch", o.batch, "Sequences a step, over all ranks")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--micro-batches", o.micro_batches, "Parts that a rank takes its sequences in")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--optimizer", o.optimizer, "adamw or sgd")
      ->capture_default_str()
      ->check(CLI::IsMember({"adamw", "sgd"}));
  app.add_option("--lr", o.learning_rate, "Learning rate")->capture_default_str()->check(CLI::NonNegativeNumber);
  app.add_option("--betas", o.betas, "AdamW's two decay rates")
      ->expected(2)
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--eps", o.epsilon, "AdamW's epsilon")->capture_default_str()->check(CLI::NonNegativeNumber);
  app.add_option("--weight-decay", o.weight_decay, "Weight decay, on matrices only")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_option("--momentum", o.momentum, "Momentum of sgd")->capture_default_str()->check(CLI::Range(0.0, 1.0));
  app.add_flag("--nesterov", o.nesterov, "Nesterov's momentum for sgd");
  app.add_option("--clip", o.clip, "Largest gradient norm; 0: no limit")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_option("--schedule", o.schedule, "constant or cosine")
      ->capture_default_str()
      ->check(CLI::IsMember({"constant", "cosine"}));
  app.add_option("--warmup", o.warmup, "Steps over which cosine rises")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_option("--min-lr", o.minimum, "Where cosine ends (default: a tenth of --lr)")->check(CLI::NonNegativeNumber);
  app.add_option("--seed", o.seed, "Of first weights, batches, dropout and the sample")->capture_default_str();
  app.add_option("--dropout", o.dropout, "Probability, from 0 to below 1")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 0.999));
  app.add_option("--sample", o.sample, "Tokens to generate at the end")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_option("--metrics", o.metrics, "File for a JSON line a step");
}

} // namespace

/// Fills `options` from the command line; the text of --help instead, when that was asked for. Throws InvalidArgument.
inline std::optional<std::string> parse(int argc, char** argv, TrainingOptions& options) {
  CLI::App app(
      "Trains a GPT, fully sharded over the processes that mpirun starts. ./run train --ranks N sets their number.",
      "train_gpt");
  add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (CLI::CallForHelp const&) {
    return app.help();
  } catch (CLI::ParseError const& error) {
    throw cleave::InvalidArgument("{}. --help lists the options", error.what());
  }
  if (!options.text.empty() && !options.tokens.empty()) {
    throw cleave::InvalidArgument("expected one source of text, found --text and --tokens. Leave one out");
  }
  if (options.minimum < 0) {
    options.minimum = options.learning_rate / 10;
  }
  return std::nullopt;
}

} // namespace examples
