#pragma once

#include <cleave/detail/layers/wrapper.hpp>
#include <cleave/layers/layer.hpp>

namespace cleave {

/// L, its parameters called Text.(name): Named<"attn", CausalSelfAttention<768, 12>>. An empty text adds nothing, and
/// keeps a composition from numbering L.
template <Literal Text, typename L>
struct Named;

template <Literal Text, layer L>
struct Named<Text, L> : detail::Wrapper<L> {
  static constexpr bool names_itself = true;

  template <typename Visitor>
  static constexpr void describe(Name prefix, Visitor&& visit) {
    cleave::for_each_parameter<L>(prefix.then(Text.view()), visit);
  }
};

/// The same for a loss that has parameters.
template <Literal Text, loss_layer L>
struct Named<Text, L> : detail::LossWrapper<L> {
  static constexpr bool names_itself = true;

  template <typename Visitor>
  static constexpr void describe(Name prefix, Visitor&& visit) {
    cleave::for_each_parameter<L>(prefix.then(Text.view()), visit);
  }
};

} // namespace cleave
