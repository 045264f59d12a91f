#pragma once

#include <concepts>

#include <cleave/policy/category.hpp>

namespace cleave {

/// What the gradient is the gradient of, when several ranks and micro-batches each have a loss.
///
/// A loss is a sum over its rows and a weight (how many rows count). `seed(weight)` multiplies the gradient of the
/// sum, `share(weight)` is what the micro-batch adds to the divisor.
template <typename R>
concept reduction_policy = policy_of<R, category::reduction> && requires(double weight) {
  { R::seed(weight) } -> std::same_as<double>;
  { R::share(weight) } -> std::same_as<double>;
  { R::divides } -> std::convertible_to<bool>;
};

namespace reduction {

/// The mean over all rows that count, whichever rank or micro-batch holds them: ranks with more tokens weigh more.
struct MeanOverWeight {
  using policy_category = category::reduction;
  static constexpr bool divides = true;
  static constexpr double seed(double /*weight*/) { return 1; }
  static constexpr double share(double weight) { return weight; }
};

/// The mean over ranks and micro-batches of their mean losses, whatever their sizes (PyTorch's FSDP and DDP). Those
/// where no row counts have no mean, and are left out.
struct MeanOverRanks {
  using policy_category = category::reduction;
  static constexpr bool divides = true;
  static constexpr double seed(double weight) { return weight > 0 ? 1 / weight : 0; }
  static constexpr double share(double weight) { return weight > 0 ? 1 : 0; }
};

/// The sum over all rows; nothing is divided.
struct Sum {
  using policy_category = category::reduction;
  static constexpr bool divides = false;
  static constexpr double seed(double /*weight*/) { return 1; }
  static constexpr double share(double weight) { return weight; }
};

static_assert(reduction_policy<MeanOverWeight> && reduction_policy<MeanOverRanks> && reduction_policy<Sum>);

} // namespace reduction
} // namespace cleave
