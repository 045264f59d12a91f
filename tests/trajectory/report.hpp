#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace trajectory {

/// What a training run leaves to compare. Tensors are flat, one after the other in the model's order.
struct Trajectory {
  std::vector<double> losses;         // by step
  std::vector<double> norms;          // by step, before clipping
  std::vector<double> first_gradient; // empty: not known
  std::vector<double> weights;        // after the last step
  std::vector<bool> is_key_bias; // by element of weights: its true gradient is zero, so AdamW turns rounding into steps
};

/// The largest differences between two trajectories, or what they may be.
struct Differences {
  double loss = 0;           // relative
  double norm = 0;           // relative
  double first_gradient = 0; // absolute
  double weights = 0;        // absolute
  double key_bias = 0;       // absolute

  /// False too when a difference is not a number.
  [[nodiscard]] bool within(Differences const& limit) const {
    return loss <= limit.loss && norm <= limit.norm && first_gradient <= limit.first_gradient &&
           weights <= limit.weights && key_bias <= limit.key_bias;
  }
  /// These limits, and `times` what is uncertain anyway.
  [[nodiscard]] Differences widened(Differences const& by, double times) const {
    return {loss + times * by.loss, norm + times * by.norm, first_gradient + times * by.first_gradient,
            weights + times * by.weights, key_bias + times * by.key_bias};
  }
};

/// Keeps a NaN, which std::max would lose.
inline void raise(double& largest, double difference) {
  largest = difference > largest || std::isnan(difference) ? difference : largest;
}

inline double largest_relative(std::vector<double> const& found, std::vector<double> const& expected) {
  double largest = found.size() == expected.size() ? 0 : std::nan("");
  for (std::size_t i = 0; i != std::min(found.size(), expected.size()); ++i) {
    raise(largest, std::abs(found[i] - expected[i]) / std::abs(expected[i]));
  }
  return largest;
}

inline Differences compare(Trajectory const& found, Trajectory const& expected) {
  Differences d{largest_relative(found.losses, expected.losses), largest_relative(found.norms, expected.norms)};
  for (std::size_t i = 0; i != expected.first_gradient.size(); ++i) {
    raise(d.first_gradient, std::abs(found.first_gradient.at(i) - expected.first_gradient[i]));
  }
  for (std::size_t i = 0; i != expected.weights.size(); ++i) {
    raise(found.is_key_bias.at(i) ? d.key_bias : d.weights, std::abs(found.weights.at(i) - expected.weights[i]));
  }
  return d;
}

/// One case under one combination of policies.
struct Report {
  std::string case_name;
  std::string policy;
  std::string transport;
  int ranks = 0;
  Differences differences;
  bool passed = false;
};

} // namespace trajectory
