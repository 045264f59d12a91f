#pragma once

#include <concepts>

#include <cleave/policy/category.hpp>

namespace cleave {

/// What each rank keeps a slice of, and for how long weights stay whole.
template <typename S>
concept sharding_policy = policy_of<S, category::sharding> && requires {
  { S::shards_optimizer } -> std::convertible_to<bool>;  ///< master weights and optimizer state are slices
  { S::shards_gradients } -> std::convertible_to<bool>;  ///< whole gradients live only until they are reduced
  { S::shards_parameters } -> std::convertible_to<bool>; ///< whole weights live only from forward to backward
  { S::reshards_after_forward } -> std::convertible_to<bool>;
};

namespace sharding {

/// ZeRO-3: weights, gradients and optimizer state are slices; a unit's weights are whole while it runs
/// (PyTorch's FULL_SHARD).
struct Full {
  using policy_category = category::sharding;
  static constexpr bool shards_optimizer = true;
  static constexpr bool shards_gradients = true;
  static constexpr bool shards_parameters = true;
  static constexpr bool reshards_after_forward = true;
};

/// ZeRO-2: as Full, but weights stay whole from forward to backward (SHARD_GRAD_OP).
struct GradientsAndOptimizer {
  using policy_category = category::sharding;
  static constexpr bool shards_optimizer = true;
  static constexpr bool shards_gradients = true;
  static constexpr bool shards_parameters = true;
  static constexpr bool reshards_after_forward = false;
};

/// ZeRO-1: only master weights and optimizer state are slices; weights are gathered once a step.
struct OptimizerOnly {
  using policy_category = category::sharding;
  static constexpr bool shards_optimizer = true;
  static constexpr bool shards_gradients = false;
  static constexpr bool shards_parameters = false;
  static constexpr bool reshards_after_forward = false;
};

/// Plain data parallelism: everything is whole on every rank, gradients are all-reduced (NO_SHARD, DDP).
struct None {
  using policy_category = category::sharding;
  static constexpr bool shards_optimizer = false;
  static constexpr bool shards_gradients = false;
  static constexpr bool shards_parameters = false;
  static constexpr bool reshards_after_forward = false;
};

static_assert(sharding_policy<Full> && sharding_policy<GradientsAndOptimizer> && sharding_policy<OptimizerOnly> &&
              sharding_policy<None>);

} // namespace sharding
} // namespace cleave
