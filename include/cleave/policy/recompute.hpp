#pragma once

#include <concepts>

#include <cleave/policy/category.hpp>

namespace cleave {

/// Which layers keep only their input, and compute again in backward: the same as wrapping them in Checkpoint.
template <typename R>
concept recompute_policy = policy_of<R, category::recompute> && requires {
  { R::template matches<int> } -> std::convertible_to<bool>;
};

namespace recompute {

/// Everything that backward needs is kept.
struct None {
  using policy_category = category::recompute;
  template <typename L>
  static constexpr bool matches = false;
};

/// Layers of these types, wherever they stand in the model: recompute::Types<models::gpt::Block<config>>.
template <typename... Layers>
struct Types {
  static_assert(sizeof...(Layers) > 0,
                "cleave::recompute::Types<>: no layer is named. Name one, or use recompute::None.");
  using policy_category = category::recompute;
  template <typename L>
  static constexpr bool matches = (... || std::same_as<L, Layers>);
};

/// Every layer of the pack, and of a ready model's list, that takes rows of features.
struct All {
  using policy_category = category::recompute;
  template <typename L>
  static constexpr bool matches = true;
};

static_assert(recompute_policy<None> && recompute_policy<Types<int>> && recompute_policy<All>);

} // namespace recompute
} // namespace cleave
