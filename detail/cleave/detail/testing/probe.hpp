#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <cleave/core/random.hpp>
#include <cleave/layers/layer.hpp>

namespace cleave::testing {

/// The largest differences found, relative to 1 + |expected|.
struct GradientErrors {
  double input = 0;
  double parameters = 0;
  double value = 0; ///< of a loss: between its two ways to the same sum
};

struct GradientCheckOptions {
  Shape shape{2, 5};
  double step = 1e-5;   ///< of the central difference
  double dropout = 0;   ///< probability, for Dropout
  int columns = 6;      ///< features a row, for layers that take any
  int ignore_every = 0; ///< for losses over classes: each n-th target is ignored; 0: none
  std::uint64_t seed = 1;
};

} // namespace cleave::testing

namespace cleave::detail {

/// Random numbers in (-1, 1): element i is a function of (seed, stream, i).
[[nodiscard]] inline std::vector<double> probe_numbers(Index size, std::uint64_t seed, std::uint64_t stream) {
  std::vector<double> values;
  for (Index i = 0; i != size; ++i) {
    auto const word = philox({static_cast<std::uint32_t>(i), 0, 0, 0}, derive_key(seed, stream));
    values.push_back(2 * uniform(word[0]) - 1);
  }
  return values;
}

/// The larger error, where NaN is larger than all.
[[nodiscard]] inline double worse(double a, double b) {
  return std::isnan(b) ? std::numeric_limits<double>::infinity() : std::max(a, b);
}

/// How far apart two numbers are, relative to 1 + |expected|.
[[nodiscard]] inline double distance(double found, double expected) {
  return std::abs(found - expected) / (1 + std::abs(expected));
}

/// The largest distance of `derivatives` from central differences of value() in each of `variables`.
template <typename F>
[[nodiscard]] double derivative_error(std::vector<double>& variables, std::vector<double> const& derivatives,
                                      double step, F value) {
  double worst = 0;
  for (std::size_t i = 0; i != variables.size(); ++i) {
    double const kept = variables[i];
    variables[i] = kept + step;
    double const up = value();
    variables[i] = kept - step;
    double const down = value();
    variables[i] = kept;
    worst = detail::worse(worst, detail::distance(derivatives[i], (up - down) / (2 * step)));
  }
  return worst;
}

/// Random values for the parameters of L, and room for their gradients.
template <typename L>
class ProbeParameters {
public:
  explicit ProbeParameters(std::uint64_t seed) {
    std::vector<Name> names;
    Index size = 0;
    cleave::for_each_parameter<L>(Name{}, [&](Parameter const& parameter) {
      auto const owner = std::find(names.begin(), names.end(), parameter.name);
      bool const shared = parameter.tied && owner != names.end();
      offsets_.push_back(shared ? offsets_[static_cast<std::size_t>(owner - names.begin())] : size);
      size += shared ? 0 : parameter.shape.size();
      names.push_back(parameter.name);
    });
    values_ = detail::probe_numbers(size, seed, 1);
    gradients_.assign(values_.size(), first_gradient);
  }

  [[nodiscard]] Slots<double const> weights() const { return {values_.data(), offsets_.data()}; }
  [[nodiscard]] Slots<double> gradients() { return {gradients_.data(), offsets_.data()}; }
  [[nodiscard]] std::vector<double>& values() { return values_; }

  /// What `times` backward passes added to the gradients, for one of them.
  [[nodiscard]] std::vector<double> added(int times) const {
    std::vector<double> differences;
    for (double const gradient : gradients_) {
      differences.push_back((gradient - first_gradient) / times);
    }
    return differences;
  }

private:
  static constexpr double first_gradient = 0.5; // not 0: backward adds

  std::vector<Index> offsets_;
  std::vector<double> values_;
  std::vector<double> gradients_;
};

} // namespace cleave::detail
