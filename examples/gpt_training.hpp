#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <unistd.h>

#include <fmt/core.h>

#include <cleave/cleave.hpp>
#include <cleave/comm/launch.hpp>
#include <cleave/comm/mpi.hpp>

#include "corpus.hpp"
#include "training_options.hpp"

namespace examples {

using namespace cleave;

/// Trains a GPT as the command line says, then validates, shows a sample and saves. One object on each rank.
template <models::gpt::Config Config>
class GptTraining {
  using Model = ShardedModule<models::gpt::Gpt<Config>, sharding::Full, prefetch::BackwardPre<>, precision::Full<float>,
                              reduction::MeanOverWeight, comm::Mpi>;
  using Clock = std::chrono::steady_clock;

public:
  GptTraining(comm::Mpi& world, TrainingOptions const& options)
      : world_(world),
        options_(options),
        corpus_(options, Config.vocabulary, Config.context),
        shape_{Config.context, options.batch, world.size(), world.rank(), options.micro_batches},
        batches_(corpus_.training(), shape_, {.seed = options.seed}),
        validation_(corpus_.validation(), shape_),
        model_(world, {.batch = shape_.per_micro_batch(),
                       .sequence = Config.context,
                       .seed = options.seed,
                       .dropout = options.dropout}) {
    require_place(options.save);
    if (!options.init.empty()) {
      checkpoint::load_weights(options.init, model_);
    }
    if (speaks() && !options.metrics.empty()) {
      metrics_.emplace(options.metrics);
    }
  }

  void run() {
    introduce();
    if (options_.optimizer == "adamw") {
      train(optim::AdamW(model_, {options_.learning_rate, options_.betas[0], options_.betas[1], options_.epsilon,
                                  options_.weight_decay}));
    } else {
      train(optim::Sgd(model_, {options_.learning_rate, options_.momentum, options_.nesterov, options_.weight_decay}));
    }
    double const loss = validate();
    if (!std::isfinite(loss)) {
      throw Error("expected a finite validation loss after step {}, found {}. Lower --lr, or check the weights of "
                  "--init",
                  options_.steps, loss);
    }
    say(fmt::format("validation loss {:.4f}", loss));
    show_sample();
    if (!options_.save.empty()) {
      checkpoint::save_weights(options_.save, model_);
      say("weights saved to " + options_.save);
    }
  }

private:
  [[nodiscard]] bool speaks() const { return world_.rank() == 0; }
  void say(std::string const& line) const {
    if (speaks()) {
      std::printf("%s\n", line.c_str());
      std::fflush(stdout);
    }
  }

  /// Finds out before the training that nothing could be saved after it.
  static void require_place(std::string const& path) {
    if (path.empty()) {
      return;
    }
    if (std::filesystem::exists(path) && !std::filesystem::is_regular_file(path)) {
      throw FileError("expected the name of a file for --save, found '{}', which is {}. Choose another name", path,
                      std::filesystem::is_directory(path) ? "a folder" : "no regular file");
    }
    std::filesystem::path const folder = std::filesystem::absolute(path).parent_path();
    if (::access(folder.c_str(), W_OK) != 0) {
      throw FileError(
          "expected to be able to write to folder '{}' for --save, found that it is missing or read-only. Make it, "
          "or choose another",
          folder.string());
    }
  }

  void introduce() const {
    Index parameters = 0;
    Model::for_each_parameter([&](Name const&, Parameter const& parameter) { parameters += parameter.shape.size(); });
    say(fmt::format("{} parameters on {} rank{}, {} tokens of {}", observe::format_count(parameters), world_.size(),
                    world_.size() == 1 ? "" : "s", observe::format_count(corpus_.training().size()), corpus_.name()));
  }

  template <typename Optimizer>
  void train(Optimizer optimizer) {
    std::optional<observe::Progress> progress;
    if (speaks()) {
      progress.emplace(stdout, options_.steps);
    }
    begin_ = Clock::now();
    for (Index step = 0; step != options_.steps; ++step) {
      observe::StepMetrics const now = train_step(step, optimizer);
      if (speaks()) {
        progress->update(step + 1, {now.loss, now.tokens_per_second, observe::process_memory().resident});
      }
      if (metrics_) {
        metrics_->write(now);
      }
    }
    if (progress) {
      progress->finish();
    }
  }

  template <typename Optimizer>
  observe::StepMetrics train_step(Index step, Optimizer& optimizer) {
    for (Index micro = 0; micro != options_.micro_batches; ++micro) {
      data::Batch const batch = batches_.read(step, micro);
      model_.backward(model_.loss(batch.tokens, batch.targets, 1, batch.first_sequence));
    }
    double const loss = model_.mean_loss();
    double const norm = options_.clip > 0 ? optim::clip_gradient_norm(model_, options_.clip) : model_.gradient_norm();
    if (!std::isfinite(loss) || !std::isfinite(norm)) {
      throw Error("expected finite numbers, found a loss of {} and a gradient norm of {} at step {}. Lower --lr", loss,
                  norm, step);
    }
    double const rate = learning_rate(step);
    optimizer.set_learning_rate(rate);
    optimizer.step();
    std::chrono::duration<double> const passed = Clock::now() - begin_;
    auto const tokens = static_cast<double>((step + 1) * options_.batch * Config.context);
    return {step, loss, norm, rate, tokens / passed.count()};
  }

  [[nodiscard]] double learning_rate(Index step) const {
    if (options_.schedule == "constant") {
      return options_.learning_rate;
    }
    return optim::CosineWithWarmup{options_.learning_rate, options_.minimum, options_.warmup, options_.steps}(step);
  }

  /// The mean loss over the text that was held out.
  double validate() {
    std::array<double, 2> totals{};
    for (Index step = 0; step != validation_.steps(); ++step) {
      for (Index micro = 0; micro != options_.micro_batches; ++micro) {
        data::Batch const batch = validation_.read(step, micro);
        Loss const loss = model_.evaluate(batch.tokens, batch.targets);
        totals[0] += loss.sum;
        totals[1] += loss.weight;
      }
    }
    world_.all_reduce(comm::no_unit, std::span<double>(totals));
    return totals[0] / totals[1];
  }

  /// Continues the beginning of the held-out text.
  void show_sample() {
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(Config.context));
    corpus_.validation().copy(0, tokens);
    std::vector<std::int32_t> sample;
    for (Index i = 0; i != options_.sample; ++i) {
      std::int32_t const next = pick(model_.logits(tokens), i);
      sample.push_back(next);
      std::rotate(tokens.begin(), tokens.begin() + 1, tokens.end());
      tokens.back() = next;
    }
    if (!sample.empty()) {
      say("sample:\n" + (corpus_.is_text() ? printable(data::ByteTokenizer::decode(sample)) : numbers(sample)));
    }
  }

  /// Draws a token from softmax(logits / 0.8). Every rank draws the same.
  [[nodiscard]] std::int32_t pick(std::vector<float> const& logits, Index place) const {
    constexpr double temperature = 0.8;
    float const largest = *std::ranges::max_element(logits);
    std::vector<double> sums;
    double sum = 0;
    for (float const score : logits) {
      sums.push_back(sum += std::exp(static_cast<double>(score - largest) / temperature));
    }
    auto const word = philox({static_cast<std::uint32_t>(place), 0, 0, 0}, derive_key(options_.seed, "sample"));
    auto const found = std::ranges::lower_bound(sums, uniform(word[0]) * sum);
    return static_cast<std::int32_t>(std::min<Index>(found - sums.begin(), static_cast<Index>(sums.size()) - 1));
  }

  static std::string printable(std::string text) {
    std::ranges::replace_if(
        text,
        [](char c) { return c != '\n' && (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126); },
        '?');
    return text;
  }
  static std::string numbers(std::vector<std::int32_t> const& tokens) {
    std::string text;
    for (std::size_t i = 0; i != tokens.size(); ++i) {
      text += fmt::format("{}{}", tokens[i], i % 12 == 11 ? "\n" : " ");
    }
    return text;
  }

  comm::Mpi& world_;
  TrainingOptions const& options_;
  Corpus corpus_;
  data::BatchShape shape_;
  data::RandomBatches batches_;
  data::ValidationBatches validation_;
  Model model_;
  std::optional<observe::MetricsFile> metrics_;
  Clock::time_point begin_;
};

/// The whole program.
template <models::gpt::Config Config>
int train(int argc, char** argv, TrainingOptions options) {
  return comm::launch<comm::Mpi>(argc, argv, [&](comm::Mpi& world) {
    if (auto const help = parse(argc, argv, options)) {
      if (world.rank() == 0) {
        std::printf("%s", help->c_str());
      }
      return 0;
    }
    try {
      GptTraining<Config>(world, options).run();
    } catch (std::bad_alloc const&) {
      throw Error("expected memory for {} sequences of {} tokens on {} ranks, found too little. Lower --batch, or take "
                  "it in more --micro-batches",
                  options.batch, Config.context, world.size());
    }
    return 0;
  });
}

} // namespace examples
