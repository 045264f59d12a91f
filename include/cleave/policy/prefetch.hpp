#pragma once

#include <concepts>

#include <cleave/policy/category.hpp>

namespace cleave {

/// How far ahead of the computation units are gathered: `depth` units, and in backward before or after the current
/// unit's gradient is computed.
template <typename P>
concept prefetch_policy = policy_of<P, category::prefetch> && requires {
  { P::depth } -> std::convertible_to<int>;
  { P::before_gradient } -> std::convertible_to<bool>;
};

template <typename P>
concept forward_prefetch_policy = policy_of<P, category::forward_prefetch> && requires {
  { P::depth } -> std::convertible_to<int>;
};

namespace prefetch {

/// Start the next gathers before this unit's gradient (PyTorch's BACKWARD_PRE). More overlap.
template <int Depth = 1>
struct BackwardPre {
  static_assert(Depth > 0, "cleave::prefetch::BackwardPre: depth 0 fetches nothing ahead. Use prefetch::None.");
  using policy_category = category::prefetch;
  static constexpr int depth = Depth;
  static constexpr bool before_gradient = true;
};

/// Start the next gathers after this unit's gradient (BACKWARD_POST).
template <int Depth = 1>
struct BackwardPost {
  static_assert(Depth > 0, "cleave::prefetch::BackwardPost: depth 0 fetches nothing ahead. Use prefetch::None.");
  using policy_category = category::prefetch;
  static constexpr int depth = Depth;
  static constexpr bool before_gradient = false;
};

/// Gather a unit when it is needed, in both directions unless a prefetch::Forward says otherwise.
struct None {
  using policy_category = category::prefetch;
  static constexpr int depth = 0;
  static constexpr bool before_gradient = false;
};

/// How many units ahead are gathered in the forward pass. Goes with any of the above; left out it is 1, or 0 with
/// prefetch::None.
template <int Depth = 1>
struct Forward {
  static_assert(Depth >= 0, "cleave::prefetch::Forward: the depth is negative. Use 0 to fetch nothing ahead.");
  using policy_category = category::forward_prefetch;
  static constexpr int depth = Depth;
};

static_assert(prefetch_policy<BackwardPre<>> && prefetch_policy<BackwardPost<2>> && prefetch_policy<None>);
static_assert(forward_prefetch_policy<Forward<>>);

} // namespace prefetch
} // namespace cleave
