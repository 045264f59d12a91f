#pragma once

#include <cstddef>
#include <utility>

#include <cleave/detail/sharded/chain.hpp>
#include <cleave/detail/type_list.hpp>

namespace cleave::detail {

// Each check is a class that asserts, and a verdict beside it: a chain that cannot work is not instantiated any
// further, so that the assertion is what a compiler prints.

template <std::size_t Layers>
struct check_layers {
  static_assert(Layers > 0, "cleave::ShardedModule: there is no layer in the pack. List at least one.");
};

template <typename Loss, bool IsLast>
struct check_loss_last {
  static_assert(IsLast,
                "cleave::ShardedModule: a loss (see check_loss_last) stands before other layers, but a loss ends "
                "a model. Move it to the end.");
};

template <int Units>
struct check_trainable {
  static_assert(Units > 0, "cleave::ShardedModule: no layer of the pack has parameters, so there is nothing to train. "
                           "Add one.");
};

/// How the names of an entry's parameters stand to its unit's flat parameter.
struct NamesFound {
  bool all = true;
  bool shapes_equal = true;
  bool unique = true;

  [[nodiscard]] constexpr bool good() const { return all && shapes_equal && unique; }
};

template <typename L, auto const& Layout>
consteval NamesFound find_names(Name prefix) {
  NamesFound found;
  cleave::for_each_parameter<L>(prefix, [&](Parameter const& parameter) {
    Placement const* place = Layout.find(parameter.name);
    found.all = found.all && place != nullptr;
    found.shapes_equal = found.shapes_equal && (place == nullptr || place->parameter.shape == parameter.shape);
  });
  for (Placement const& placement : Layout.placements) {
    found.unique = found.unique && Layout.find(placement.parameter.name) == &placement;
  }
  return found;
}

template <typename L, bool All, bool ShapesEqual, bool Unique>
struct check_names {
  static_assert(All,
                "cleave::Tied<Text, L>: there is no parameter called Text in L's own unit (see check_names for the "
                "layer), and one parameter cannot be in two. Correct Text, or put both layers in one unit: in a "
                "model's list, outside every Repeat.");
  static_assert(ShapesEqual, "cleave::Tied<Text, L>: L's parameter has another shape than the one called Text (see "
                             "check_names for the layer). Make the shapes equal.");
  static_assert(Unique, "cleave::Named: two parameters of one unit have the same name (see check_names for the layer). "
                        "Give their layers different names.");
};

template <typename C, typename E, std::size_t I>
inline constexpr NamesFound names_found =
    detail::find_names<typename E::Layer, C::template layout_of<I>()>(prefix_in_unit<E>);
template <typename E, NamesFound Found>
inline constexpr bool accepted_names =
    looked_at<check_names<typename E::Layer, Found.all, Found.shapes_equal, Found.unique>> && Found.good();

// Verdicts are variables, not functions, whose failed assertions would make them no constant expressions.

template <typename Loss, bool IsLast>
inline constexpr bool ends_model = looked_at<check_loss_last<Loss, IsLast>> && IsLast;

/// Whether layers can follow each other: what can be said without looking at the chain.
template <typename Indices, typename... Layers>
inline constexpr bool in_order = false;
template <std::size_t... I, typename... Layers>
inline constexpr bool in_order<std::index_sequence<I...>, Layers...> =
    looked_at<check_layers<sizeof...(Layers)>> && sizeof...(Layers) > 0 &&
    (... && ends_model<Layers, !loss_layer<Layers> || I + 1 == sizeof...(Layers)>) && checked_fit<Layers...> &&
    tokens_come_first<Layers...>;

/// Whether units and names work: what only a chain in order has.
template <bool InOrder, typename C, typename Indices>
inline constexpr bool complete_chain = false;
template <typename... Es, std::size_t... I>
inline constexpr bool complete_chain<true, Chain<Es...>, std::index_sequence<I...>> =
    looked_at<check_trainable<Chain<Es...>::units>> && Chain<Es...>::units > 0 &&
    (... && accepted_names<Es, names_found<Chain<Es...>, Es, I>>);

/// Whether a chain can be trained. Where not, an assertion says why.
template <typename C>
inline constexpr bool accepted_model = false;
template <typename... Es>
inline constexpr bool accepted_model<Chain<Es...>> =
    complete_chain<in_order<std::index_sequence_for<Es...>, typename Es::Layer...>, Chain<Es...>,
                   std::index_sequence_for<Es...>>;

} // namespace cleave::detail
