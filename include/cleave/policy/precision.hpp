#pragma once

#include <concepts>

#include <cleave/core/scalar.hpp>
#include <cleave/policy/category.hpp>

namespace cleave {

/// Which number type each thing has. Shards and optimizer state are always Master.
///
///   Master    shards, optimizer state
///   Compute   gathered weights, activations, and what crosses the wire in an all-gather
///   Reduce    gradients of weights, and what crosses the wire in a reduce-scatter; sums are kept in it
template <typename P>
concept precision_policy = policy_of<P, category::precision> && scalar<typename P::Master> &&
                           scalar<typename P::Compute> && scalar<typename P::Reduce>;

namespace precision {

/// One type for everything.
template <scalar T>
struct Full {
  using policy_category = category::precision;
  using Master = T;
  using Compute = T;
  using Reduce = accumulator_t<T>;

  static_assert(!std::same_as<T, bfloat16>,
                "cleave::precision::Full<bfloat16>: master weights in 16 bits lose small updates. "
                "Use precision::Mixed<bfloat16>, which keeps them in float.");
};

/// Wire and compute in Param, master weights, gradients and sums in float (PyTorch's MixedPrecision with
/// param_dtype = Param, reduce_dtype = Reduce).
template <scalar Param, scalar ReduceType = float>
struct Mixed {
  using policy_category = category::precision;
  using Master = float;
  using Compute = Param;
  using Reduce = ReduceType;

  static_assert(std::same_as<Param, bfloat16>,
                "cleave::precision::Mixed: Param is as wide as the master weights, so nothing is mixed. "
                "Use precision::Full.");
  static_assert(std::same_as<ReduceType, float>,
                "cleave::precision::Mixed: gradients are added in float, so Reduce must be float. "
                "Leave the second argument out.");
};

static_assert(precision_policy<Full<float>> && precision_policy<Full<double>> && precision_policy<Mixed<bfloat16>>);

} // namespace precision
} // namespace cleave
