#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <cleave/comm/self.hpp>
#include <cleave/comm/threads.hpp>
#include <cleave/core/random.hpp>
#include <cleave/models/gpt.hpp>
#include <cleave/optim/adamw.hpp>
#include <cleave/optim/clip.hpp>
#include <cleave/optim/sgd.hpp>
#include <cleave/sharded/sharded_module.hpp>

namespace cleave::testing {

inline constexpr models::gpt::Config tiny{.vocabulary = 17, .context = 8, .layers = 2, .width = 8, .heads = 2};
using TinyGpt = models::gpt::Gpt<tiny>;
using TinyBlock = models::gpt::Block<tiny>;

/// An endless list of sequences, of token ids or of features.
struct Data {
  Index sequence = 1;
  int vocabulary = 0;  ///< of token ids; 0: the model takes features
  int inputs = 1;      ///< features a row
  int outputs = 0;     ///< numbers a target has; 0: a class id below `vocabulary`
  bool ragged = false; ///< a sequence keeps only its first targets, or none
};
inline constexpr Data tiny_text{.sequence = 8, .vocabulary = 17};
inline constexpr Data ragged_text{.sequence = 8, .vocabulary = 17, .ragged = true};

template <typename Model>
struct Rows {
  std::vector<typename Model::Input> input;
  std::vector<typename Model::Target> targets;
};

namespace detail {

template <typename Value>
void append(std::vector<Value>& values, Data const& data, int width, std::uint64_t key) {
  for (int i = 0; i != std::max(1, width); ++i) {
    std::uint64_t const word = derive_key(key, static_cast<std::uint64_t>(i));
    if constexpr (std::is_same_v<Value, std::int32_t>) {
      values.push_back(static_cast<std::int32_t>(word % static_cast<unsigned>(data.vocabulary)));
    } else {
      values.push_back(static_cast<Value>(2 * uniform(static_cast<std::uint32_t>(word)) - 1));
    }
  }
}

} // namespace detail

/// Sequences first, ..., first + count.
template <typename Model>
[[nodiscard]] Rows<Model> rows_of(Data const& data, Index first, Index count) {
  Rows<Model> rows;
  for (Index i = first; i != first + count; ++i) {
    auto const sequence = static_cast<std::uint64_t>(i);
    auto const kept = static_cast<Index>(derive_key(3, sequence) % static_cast<std::uint64_t>(data.sequence + 1));
    for (Index position = 0; position != data.sequence; ++position) {
      std::uint64_t const row = derive_key(sequence, static_cast<std::uint64_t>(position));
      detail::append(rows.input, data, data.inputs, derive_key(row, "input"));
      detail::append(rows.targets, data, data.outputs, derive_key(row, "target"));
      if constexpr (std::is_same_v<typename Model::Target, std::int32_t>) {
        rows.targets.back() = data.ragged && position >= kept ? ignored_target : rows.targets.back();
      }
    }
  }
  return rows;
}

struct Recipe {
  int ranks = 2;
  Index batch = 2; ///< sequences that a rank takes at once
  int micro_batches = 1;
  int steps = 3;
  double clip = 0.5;
  double dropout = 0;
};

using Values = std::map<std::string, std::vector<double>>;

/// What training came to, equal on every rank.
struct Trained {
  std::vector<double> losses;
  std::vector<double> norms;
  Values weights;
  friend bool operator==(Trained const&, Trained const&) = default;
};

template <typename Model>
[[nodiscard]] Values weights_of(Model& model) {
  Values all;
  model.visit_parameters([&](Name const& name, Placement const&, auto values) {
    all[std::string(name.view())].assign(values.begin(), values.end());
  });
  return all;
}
template <typename Model>
[[nodiscard]] Values gradients_of(Model& model) {
  Values all;
  model.visit_gradients([&](Name const& name, Placement const&, auto values) {
    all[std::string(name.view())].assign(values.begin(), values.end());
  });
  return all;
}

/// Calls f(world) on every rank.
template <typename Communicator, typename F>
void on_ranks(int ranks, F f) {
  if constexpr (requires { Communicator::run(ranks, f); }) {
    Communicator::run(ranks, f);
  } else {
    Communicator world;
    f(world);
  }
}

template <typename Model>
[[nodiscard]] ModelOptions options_of(Data const& data, Recipe const& recipe) {
  return {.batch = recipe.batch, .sequence = data.sequence, .seed = 5, .dropout = recipe.dropout, .threads = 1};
}

/// Forward and backward of step `step` on this rank's part of the data.
template <typename Model>
void accumulate(Model& model, Data const& data, Recipe const& recipe, int step) {
  auto const& world = model.communicator();
  for (int m = 0; m != recipe.micro_batches; ++m) {
    Index const turn = (Index{step} * recipe.micro_batches + m) * world.size() + world.rank();
    auto const rows = rows_of<Model>(data, turn * recipe.batch, recipe.batch);
    model.backward(model.loss(rows.input, rows.targets));
  }
}

/// What train steps with. Plain descent keeps rounding errors small; AdamW makes steps of them where a gradient is
/// zero.
struct ByAdamW {
  template <typename Model>
  static auto make(Model& model) {
    return optim::AdamW(model, {.learning_rate = 1e-2, .weight_decay = 0.1});
  }
};
struct BySgd {
  template <typename Model>
  static auto make(Model& model) {
    return optim::Sgd(model, {.learning_rate = 1e-1});
  }
};

template <typename Model, typename Optimizer>
[[nodiscard]] Trained train_rank(typename Model::Communicator& world, Data const& data, Recipe const& recipe) {
  Model model(world, options_of<Model>(data, recipe));
  auto optimizer = Optimizer::make(model);
  Trained result;
  for (int step = 0; step != recipe.steps; ++step) {
    accumulate(model, data, recipe, step);
    result.losses.push_back(model.mean_loss());
    result.norms.push_back(optim::clip_gradient_norm(model, recipe.clip));
    optimizer.step();
  }
  result.weights = weights_of(model);
  return result;
}

/// Trains on recipe.ranks ranks. Throws when they do not agree.
template <typename Model, typename Optimizer = ByAdamW>
[[nodiscard]] Trained train(Data const& data, Recipe const& recipe) {
  std::vector<Trained> ranks(static_cast<std::size_t>(recipe.ranks));
  on_ranks<typename Model::Communicator>(recipe.ranks, [&](auto& world) {
    ranks[static_cast<std::size_t>(world.rank())] = train_rank<Model, Optimizer>(world, data, recipe);
  });
  for (Trained const& rank : ranks) {
    if (rank != ranks[0]) {
      throw std::logic_error("ranks ended with different numbers");
    }
  }
  return ranks[0];
}

/// The largest difference, relative to 1 + |value|; infinite where names or sizes differ, or a value is no number.
[[nodiscard]] inline double distance(std::vector<double> const& a, std::vector<double> const& b) {
  double worst = a.size() == b.size() ? 0 : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i != std::min(a.size(), b.size()); ++i) {
    double const error = std::abs(a[i] - b[i]) / (1 + std::abs(b[i]));
    worst = error >= 0 ? std::max(worst, error) : std::numeric_limits<double>::infinity();
  }
  return worst;
}
[[nodiscard]] inline double distance(Values const& a, Values const& b) {
  double worst = a.size() == b.size() ? 0 : std::numeric_limits<double>::infinity();
  for (auto const& [name, values] : b) {
    worst = std::max(worst, a.contains(name) ? testing::distance(a.at(name), values)
                                             : std::numeric_limits<double>::infinity());
  }
  return worst;
}
[[nodiscard]] inline double distance(Trained const& a, Trained const& b) {
  return std::max({testing::distance(a.losses, b.losses), testing::distance(a.norms, b.norms),
                   testing::distance(a.weights, b.weights)});
}

} // namespace cleave::testing
