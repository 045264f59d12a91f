#pragma once

#include <cleave/detail/layers/wrapper.hpp>
#include <cleave/layers/layer.hpp>

namespace cleave {

/// L with its first parameter replaced by the one called Text elsewhere in the same unit: one parameter, two views, the
/// sum of both gradients. Tied<"wte.weight", Linear<768, 50257, ...>>. Text counts from the unit: in the root, it is
/// the full name.
template <Literal Text, typename L>
struct Tied;

namespace detail {

template <Literal Text, typename L, typename Visitor>
constexpr void describe_tied(Name prefix, Visitor&& visit) {
  static_assert(parameter_count<L> > 0,
                "cleave::Tied<Text, L>: L has no parameter that could be tied. Leave Tied out.");
  bool first = true;
  cleave::for_each_parameter<L>(prefix, [&](Parameter parameter) {
    if (first) {
      parameter.name = Name(Text.view());
      parameter.tied = true;
      first = false;
    }
    visit(parameter);
  });
}

} // namespace detail

template <Literal Text, layer L>
struct Tied<Text, L> : detail::Wrapper<L> {
  template <typename Visitor>
  static constexpr void describe(Name prefix, Visitor&& visit) {
    detail::describe_tied<Text, L>(prefix, visit);
  }
};

/// The same for a loss that projects: Tied<"wte.weight", OutputCrossEntropy<768, 50257>>.
template <Literal Text, loss_layer L>
struct Tied<Text, L> : detail::LossWrapper<L> {
  template <typename Visitor>
  static constexpr void describe(Name prefix, Visitor&& visit) {
    detail::describe_tied<Text, L>(prefix, visit);
  }
};

} // namespace cleave
