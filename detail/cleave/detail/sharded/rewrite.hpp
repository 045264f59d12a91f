#pragma once

#include <type_traits>

#include <cleave/detail/sharded/chain.hpp>
#include <cleave/layers/checkpoint.hpp>
#include <cleave/layers/residual.hpp>
#include <cleave/layers/sequential.hpp>
#include <cleave/layers/tied.hpp>
#include <cleave/policy/recompute.hpp>

namespace cleave::detail {

/// L with the layers that Policy names wrapped in Checkpoint, inside compositions too.
template <typename Policy, typename L>
struct rewrite_inside {
  using type = L;
};
template <typename Policy, typename L>
struct rewrite_layer : rewrite_inside<Policy, L> {};
template <typename Policy, layer L>
  requires Policy::template matches<L>
struct rewrite_layer<Policy, L> {
  using type = Checkpoint<L>;
};
template <typename Policy, typename L>
using rewrite = typename rewrite_layer<Policy, L>::type;

template <typename Policy, typename... Ls>
struct rewrite_inside<Policy, Sequential<Ls...>> {
  using type = Sequential<rewrite<Policy, Ls>...>;
};
template <typename Policy, typename L>
struct rewrite_inside<Policy, Residual<L>> {
  using type = Residual<rewrite<Policy, L>>;
};
template <typename Policy, int N, typename L>
struct rewrite_inside<Policy, Repeat<N, L>> {
  using type = Repeat<N, rewrite<Policy, L>>;
};
template <typename Policy, Literal Text, layer L>
struct rewrite_inside<Policy, Named<Text, L>> {
  using type = Named<Text, rewrite<Policy, L>>;
};
template <typename Policy, Literal Text, layer L>
struct rewrite_inside<Policy, Tied<Text, L>> {
  using type = Tied<Text, rewrite<Policy, L>>;
};

/// The layer of an entry, as Policy wants it: All wraps whole stages, and leaves alone what starts from tokens.
template <typename Policy, typename L>
struct rewrite_stage : rewrite_layer<Policy, L> {};
template <layer L>
  requires(vocabulary<L> > 0)
struct rewrite_stage<recompute::All, L> {
  using type = L;
};
template <int N, typename L>
struct rewrite_stage<recompute::All, Repeat<N, L>> {
  using type = Repeat<N, Checkpoint<L>>;
};
template <Literal Text, int N, typename L>
struct rewrite_stage<recompute::All, Named<Text, Repeat<N, L>>> {
  using type = Named<Text, Repeat<N, Checkpoint<L>>>;
};

template <typename Policy, typename E>
struct rewrite_entry;
template <typename Policy, typename L, int Position, bool FromComposite>
struct rewrite_entry<Policy, Entry<L, Position, FromComposite>> {
  using type = Entry<typename rewrite_stage<Policy, L>::type, Position, FromComposite>;
};

template <typename Layer, bool Found>
struct check_recomputed {
  static_assert(Found, "cleave::recompute::Types: the model does not contain one of the layers (see check_recomputed<"
                       "layer, found>), so nothing of it would be recomputed. Name a layer of the model.");
};

template <typename Policy, typename List>
struct recompute_in;
template <typename Policy, typename... Es>
struct recompute_in<Policy, type_list<Es...>> {
  using type = type_list<typename rewrite_entry<Policy, Es>::type...>;
};

/// Whether Policy names a layer of the list.
template <typename Policy, typename List>
inline constexpr bool rewrites = !std::is_same_v<typename recompute_in<Policy, List>::type, List>;

template <typename Policy, typename List>
inline constexpr bool looked_for_recomputed = true;
template <typename... Ls, typename List>
inline constexpr bool looked_for_recomputed<recompute::Types<Ls...>, List> =
    (... && looked_at<check_recomputed<Ls, rewrites<recompute::Types<Ls>, List>>>);

} // namespace cleave::detail
