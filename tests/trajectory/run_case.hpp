#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <cleave/checkpoint/weights.hpp>
#include <cleave/models/gpt.hpp>
#include <cleave/optim/adamw.hpp>
#include <cleave/optim/clip.hpp>
#include <cleave/optim/schedule.hpp>
#include <cleave/optim/sgd.hpp>
#include <cleave/sharded/sharded_module.hpp>

#include "model.hpp"
#include "reference.hpp"
#include "report.hpp"

namespace trajectory {

/// Trains one case from the reference's weights and tokens.
template <typename Model>
class Run {
  using Communicator = typename Model::Communicator;
  using Reduction = typename Model::Configuration::Reduction;

public:
  Run(Communicator& world, Reference const& reference, Case const& c, Index micro_batches)
      : world_(world),
        reference_(reference),
        case_(c),
        micro_batches_(micro_batches),
        sequences_(c.batch / (world.size() * micro_batches)),
        model_(world, {.batch = sequences_, .sequence = config.context, .threads = 1}) {
    if (sequences_ * world.size() * micro_batches != c.batch) {
      throw cleave::InvalidArgument("expected a batch that divides by {} ranks x {} micro-batches, found {}",
                                    world.size(), micro_batches, c.batch);
    }
    cleave::checkpoint::load_weights(reference.file("init.safetensors"), model_);
  }

  /// Moves every weight by up to half a unit in float32's last place: what rounding may have taken from it.
  void nudge() {
    std::vector<typename Model::Master> values;
    model_.for_each_kept(true, [&](auto& stream, cleave::Name const& name, cleave::Placement const&, Index first,
                                   auto weights) {
      values.resize(static_cast<std::size_t>(weights.size));
      stream.to_host(bytes(values.data()), bytes(weights.data), byte_count(values));
      stream.synchronize();
      for (std::size_t i = 0; i != values.size(); ++i) {
        auto const word = cleave::philox({static_cast<std::uint32_t>(first) + static_cast<std::uint32_t>(i), 0, 0, 0},
                                         cleave::derive_key(0, name.view()));
        auto const rounded = static_cast<float>(std::abs(static_cast<double>(values[i])));
        double const unit = std::nextafter(rounded, std::numeric_limits<float>::infinity()) - rounded;
        values[i] += static_cast<typename Model::Master>(unit * (cleave::uniform(word[0]) - 0.5));
      }
      stream.from_host(bytes(weights.data), bytes(values.data()), byte_count(values));
      stream.synchronize();
    });
  }

  Trajectory operator()() {
    if (case_.optimizer == "adamw") {
      train(cleave::optim::AdamW(
          model_, {case_.learning_rate, case_.beta1, case_.beta2, case_.epsilon, case_.weight_decay}));
    } else {
      train(cleave::optim::Sgd(model_, {case_.learning_rate, case_.momentum, case_.nesterov, case_.weight_decay}));
    }
    collect(found_.weights, [&](auto visit) { model_.visit_parameters(visit); });
    return std::move(found_);
  }

private:
  template <typename Optimizer>
  void train(Optimizer optimizer) {
    cleave::optim::CosineWithWarmup const cosine{case_.learning_rate, case_.minimum, case_.warmup, case_.steps()};
    for (Index step = 0; step != case_.steps(); ++step) {
      double const loss = forward_and_backward(step);
      if (step == 0) {
        collect(found_.first_gradient, [&](auto visit) { model_.visit_gradients(visit); });
      }
      double const norm = std::isfinite(case_.clip) ? cleave::optim::clip_gradient_norm(model_, case_.clip)
                                                    : model_.gradient_norm();
      optimizer.set_learning_rate(case_.cosine ? cosine(step) : case_.learning_rate);
      optimizer.step();
      found_.losses.push_back(loss);
      found_.norms.push_back(norm);
    }
  }

  /// The mean loss over all ranks and micro-batches.
  double forward_and_backward(Index step) {
    std::array<double, 2> totals{};
    for (Index micro = 0; micro != micro_batches_; ++micro) {
      read_batch(step, (world_.rank() * micro_batches_ + micro) * sequences_);
      auto const loss = model_.loss(tokens_, targets_, scale(step));
      model_.backward(loss);
      totals[0] += loss.sum;
      totals[1] += loss.weight;
    }
    world_.all_reduce(cleave::comm::no_unit, std::span<double>(totals));
    double const mean = totals[0] / totals[1];
    if (std::is_same_v<Reduction, cleave::reduction::MeanOverWeight> &&
        std::abs(model_.mean_loss() - mean) > 1e-12 * mean) {
      throw cleave::Error("expected mean_loss() to be the mean over all targets, {}, found {}", mean,
                          model_.mean_loss());
    }
    return mean;
  }

  /// The micro-batch of sequences first, ... of the step's global batch.
  void read_batch(Index step, Index first) {
    auto const size = static_cast<std::size_t>(sequences_ * config.context);
    auto const begin = static_cast<std::size_t>((step * case_.batch + first) * config.context);
    auto const tokens = std::span(reference_.tokens);
    tokens_.assign(tokens.begin() + static_cast<Index>(begin), tokens.begin() + static_cast<Index>(begin + size));
    targets_.assign(tokens.begin() + static_cast<Index>(begin) + 1,
                    tokens.begin() + static_cast<Index>(begin + size) + 1);
    for (Index s = 0; case_.ragged && s != sequences_; ++s) {
      auto const row = targets_.begin() + s * config.context;
      std::fill(row + kept(step, first + s), row + config.context, cleave::ignored_target);
    }
  }
  [[nodiscard]] Index kept(Index step, Index sequence) const {
    return case_.ragged ? reference_.valid[static_cast<std::size_t>(step * case_.batch + sequence)] : config.context;
  }

  /// What a user of the reduction has to multiply the loss by to get the gradient of the global mean.
  [[nodiscard]] double scale(Index step) const {
    if (std::is_same_v<Reduction, cleave::reduction::MeanOverWeight>) {
      return 1;
    }
    double all = 0;
    for (Index s = 0; s != case_.batch; ++s) {
      all += static_cast<double>(kept(step, s));
    }
    if (std::is_same_v<Reduction, cleave::reduction::Sum>) {
      return 1 / all;
    }
    auto const mine = static_cast<double>(std::ranges::count_if(targets_, [](auto t) { return t >= 0; }));
    return mine * static_cast<double>(world_.size() * micro_batches_) / all;
  }

  template <typename Visit>
  static void collect(std::vector<double>& flat, Visit visit_all) {
    visit_all([&](cleave::Name const&, cleave::Placement const&, auto values) {
      flat.insert(flat.end(), values.begin(), values.end());
    });
  }

  template <typename T>
  static std::byte* bytes(T* data) {
    return reinterpret_cast<std::byte*>(data);
  }
  template <typename T>
  static Index byte_count(std::vector<T> const& values) {
    return static_cast<Index>(values.size() * sizeof(T));
  }

  Communicator& world_;
  Reference const& reference_;
  Case const& case_;
  Index micro_batches_;
  Index sequences_; // of a micro-batch
  Model model_;
  std::vector<std::int32_t> tokens_;
  std::vector<std::int32_t> targets_;
  Trajectory found_;
};

/// The reference's trajectory of a case, its tensors in the model's order.
template <typename Model>
Trajectory expected_of(Reference const& reference, Case const& c) {
  Trajectory expected{c.losses, c.norms, {}, {}, {}};
  cleave::checkpoint::SafetensorsFile const weights(reference.file(c.name + ".final.safetensors"));
  cleave::checkpoint::SafetensorsFile const gradient(reference.file("grad0.safetensors"));
  bool const has_gradient = owns_gradient(reference, c);
  auto const append = [](std::vector<double>& flat, cleave::checkpoint::SafetensorsFile const& file,
                         cleave::Name const& name, Index size) {
    flat.resize(flat.size() + static_cast<std::size_t>(size));
    file.read(name.view(), 0, std::span(flat).last(static_cast<std::size_t>(size)));
  };
  Model::for_each_parameter([&](cleave::Name const& name, cleave::Parameter const& parameter) {
    append(expected.weights, weights, name, parameter.shape.size());
    if (has_gradient) {
      append(expected.first_gradient, gradient, name, parameter.shape.size());
    }
  });
  return expected;
}

/// Which elements are the key third of an attention's biases.
template <typename Model>
std::vector<bool> key_biases() {
  std::vector<bool> flat;
  Model::for_each_parameter([&](cleave::Name const& name, cleave::Parameter const& parameter) {
    bool const biases = name.view().ends_with("attn.c_attn.bias");
    for (Index i = 0; i != parameter.shape.size(); ++i) {
      flat.push_back(biases && i / config.width == 1);
    }
  });
  return flat;
}

/// Trains a case and says how far it is from the reference. Where the folder does not say that its weights are exactly
/// those that the reference began with, they may be rounded, and float64 sees that: then a second run, from weights
/// that differ by as much as rounding may, shows how far apart two exact runs would be, and the limits are widened by
/// three times that.
template <typename Model, typename Communicator>
Report run_case(Communicator& world, Reference const& reference, Case const& c, Index micro_batches,
                Differences limits) {
  Trajectory found = Run<Model>(world, reference, c, micro_batches)();
  found.is_key_bias = key_biases<Model>();
  if (std::is_same_v<typename Model::Master, double> && !reference.exact) {
    Run<Model> other(world, reference, c, micro_batches);
    other.nudge();
    Trajectory nudged = other();
    nudged.is_key_bias = found.is_key_bias;
    limits = limits.widened(compare(nudged, found), 3);
  }
  Report report;
  report.differences = compare(found, expected_of<Model>(reference, c));
  report.passed = report.differences.within(limits);
  return report;
}

} // namespace trajectory
