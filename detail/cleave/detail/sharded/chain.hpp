#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <cleave/detail/layers/fit.hpp>
#include <cleave/detail/type_list.hpp>
#include <cleave/layers/layer_list.hpp>
#include <cleave/layers/named.hpp>
#include <cleave/layers/repeat.hpp>
#include <cleave/sharded/flat_layout.hpp>

namespace cleave::detail {

/// What stands in one place of a pack: a layer, how often it is repeated, and what its names begin with.
template <typename L, int Position>
struct repeated {
  using Layer = L;
  static constexpr int count = 1;
  static constexpr Name prefix = names_itself<L> ? Name{} : Name{}.then(Position);
};
template <int N, typename L, int Position>
struct repeated<Repeat<N, L>, Position> {
  using Layer = L;
  static constexpr int count = N;
  static constexpr Name prefix = Name{}.then(Position);
};
template <Literal Text, int N, typename L, int Position>
struct repeated<Named<Text, Repeat<N, L>>, Position> {
  using Layer = L;
  static constexpr int count = N;
  static constexpr Name prefix = Name{Text.view()};
};

/// One place of the chain. Each repetition of it is a stage; outside the root, a stage with parameters is a unit.
template <typename L, int Position, bool FromComposite>
struct Entry {
  using Source = repeated<L, Position>;
  using Layer = typename Source::Layer;
  static constexpr int count = Source::count;
  static constexpr bool is_repeat = !std::is_same_v<Layer, L>;
  static constexpr int slots = parameter_count<Layer>;
  static constexpr bool in_root = FromComposite && !is_repeat && slots != 0;
  static constexpr bool is_unit = !in_root && slots != 0;

  /// What the names of repetition i begin with.
  static constexpr Name prefix(int i) { return is_repeat ? Source::prefix.then(i) : Source::prefix; }
};

template <bool FromComposite, typename Positions, typename... Ls>
struct entries_at;
template <bool FromComposite, int... Position, typename... Ls>
struct entries_at<FromComposite, std::integer_sequence<int, Position...>, Ls...> {
  using type = type_list<Entry<Ls, Position, FromComposite>...>;
};

template <typename L, int Position>
struct entries_of {
  using type = type_list<Entry<L, Position, false>>;
};
template <typename... Ls>
struct entries_of_list;
template <typename... Ls>
struct entries_of_list<LayerList<Ls...>> : entries_at<true, std::make_integer_sequence<int, sizeof...(Ls)>, Ls...> {};
template <composite_model M, int Position>
struct entries_of<M, Position> : entries_of_list<typename M::Layers> {};

// -- flat layouts -------------------------------------------------------------------

/// Places the parameters of `describe(visit)` end to end; tied ones are views, so they take no place.
template <std::size_t N, typename Describe>
consteval FlatLayout<N> lay_out(Describe describe) {
  FlatLayout<N> layout;
  std::size_t next = 0;
  describe([&](Parameter const& parameter) {
    if (!parameter.tied) {
      layout.placements[next++] = {parameter, layout.size};
      layout.size += parameter.shape.size();
    }
  });
  return layout;
}

template <typename Describe>
consteval std::size_t count_owned(Describe describe) {
  std::size_t count = 0;
  describe([&](Parameter const& parameter) { count += parameter.tied ? 0 : 1; });
  return count;
}

template <typename L>
struct describe_unit {
  template <typename Visitor>
  constexpr void operator()(Visitor&& visit) const {
    cleave::for_each_parameter<L>(Name{}, visit);
  }
};

/// The layout of a unit outside the root, with names that count from the unit.
template <typename L>
inline constexpr auto unit_layout = detail::lay_out<detail::count_owned(describe_unit<L>{})>(describe_unit<L>{});

template <typename... Entries>
struct describe_root {
  template <typename Visitor>
  constexpr void operator()(Visitor&& visit) const {
    (describe<Entries>(visit), ...);
  }

private:
  template <typename E, typename Visitor>
  static constexpr void describe(Visitor&& visit) {
    if constexpr (E::in_root) {
      cleave::for_each_parameter<typename E::Layer>(E::prefix(0), visit);
    }
  }
};

/// The layout of the root unit, with full names.
template <typename... Entries>
inline constexpr auto root_layout =
    detail::lay_out<detail::count_owned(describe_root<Entries...>{})>(describe_root<Entries...>{});

// -- slots: from a layer's parameters to places in its unit's flat parameter -----------

/// What names begin with inside the entry's unit: in the root, they are full names.
template <typename E>
inline constexpr Name prefix_in_unit = E::in_root ? E::prefix(0) : Name{};

/// Of an entry that check_model.hpp has looked at: every name is found.
template <typename E, auto const& Layout>
consteval std::array<Index, static_cast<std::size_t>(E::slots)> slots_in() {
  constexpr Name prefix = prefix_in_unit<E>;
  std::array<Index, static_cast<std::size_t>(E::slots)> offsets{};
  std::size_t next = 0;
  cleave::for_each_parameter<typename E::Layer>(
      prefix, [&](Parameter const& parameter) { offsets[next++] = Layout.find(parameter.name)->offset; });
  return offsets;
}

/// The whole model as a list of entries, and as units in forward order; the root, if there is one, is unit 0.
template <typename... Entries>
struct Chain {
  static constexpr std::size_t entries = sizeof...(Entries);
  template <std::size_t E>
  using EntryAt = type_at<E, Entries...>;
  using First = typename EntryAt<0>::Layer;
  using Last = typename EntryAt<entries - 1>::Layer;

  static constexpr auto const& root = root_layout<Entries...>;
  static constexpr bool has_root = root.size != 0;
  static constexpr bool has_loss = loss_layer<Last>;
  static constexpr int body = static_cast<int>(entries) - (has_loss ? 1 : 0); // entries before the loss
  static constexpr int longest_sequence = detail::least_limit<cleave::longest_sequence<typename Entries::Layer>...>();
  static constexpr int input_width = vocabulary<First> > 0 ? 0 : detail::first_width<int{Entries::Layer::inputs}...>();
  static constexpr int output_width = detail::last_width<outputs_of<typename Entries::Layer>()...>();
  static constexpr int units = (int{has_root} + ... + (Entries::is_unit ? Entries::count : 0));
  static constexpr std::array first_unit = [] {
    std::array<int, entries> first{};
    int next = has_root;
    std::size_t e = 0;
    ((first[e++] = next, next += Entries::is_unit ? Entries::count : 0), ...);
    return first;
  }();

  /// The unit that repetition i of entry E belongs to, or -1: it has no parameters.
  template <std::size_t E>
  static constexpr int unit_of(int i) {
    return EntryAt<E>::in_root ? 0 : EntryAt<E>::is_unit ? first_unit[E] + i : -1;
  }

  template <std::size_t E>
  static constexpr auto const& layout_of() {
    if constexpr (EntryAt<E>::in_root) {
      return root_layout<Entries...>;
    } else {
      return unit_layout<typename EntryAt<E>::Layer>;
    }
  }
  template <std::size_t E>
  static constexpr auto slots = detail::slots_in<EntryAt<E>, layout_of<E>()>();

  /// Elements of each unit's flat parameter.
  static constexpr std::array<Index, static_cast<std::size_t>(units)> sizes = [] {
    std::array<Index, static_cast<std::size_t>(units)> all{};
    std::size_t next = 0;
    if (has_root) {
      all[next++] = root.size;
    }
    auto const add = [&]<typename E>(std::type_identity<E>) {
      if constexpr (E::is_unit) {
        for (int i = 0; i != E::count; ++i) {
          all[next++] = unit_layout<typename E::Layer>.size;
        }
      }
    };
    (add(std::type_identity<Entries>{}), ...);
    return all;
  }();

  /// Calls visit(unit, full name, placement) for every parameter of the model, unit by unit.
  template <typename Visitor>
  static void for_each_placement(Visitor visit) {
    for (Placement const& placement : root.placements) {
      visit(0, placement.parameter.name, placement);
    }
    int unit = has_root;
    (visit_entry<Entries>(unit, visit), ...);
  }

  /// What unit `number` is called in messages: the prefix that its names share, or "root".
  static Name unit_name(int number) {
    Name name = has_root && number == 0 ? Name("root") : Name();
    int unit = has_root;
    auto const find = [&]<typename E>(std::type_identity<E>) {
      for (int i = 0; i != (E::is_unit ? E::count : 0); ++i, ++unit) {
        name = unit == number ? unit_prefix<E>(i) : name;
      }
    };
    (find(std::type_identity<Entries>{}), ...);
    return name;
  }

private:
  /// A layer that names itself has no prefix: then the name of its first parameter, up to the last dot.
  template <typename E>
  static Name unit_prefix(int i) {
    if constexpr (E::is_unit) {
      std::string_view const first = unit_layout<typename E::Layer>.placements[0].parameter.name;
      return E::prefix(i).view().empty() ? Name(first.substr(0, first.rfind('.'))) : E::prefix(i);
    } else {
      return {};
    }
  }

  template <typename E, typename Visitor>
  static void visit_entry(int& unit, Visitor& visit) {
    if constexpr (E::is_unit) {
      for (int i = 0; i != E::count; ++i, ++unit) {
        for (Placement const& placement : unit_layout<typename E::Layer>.placements) {
          visit(unit, E::prefix(i).then(placement.parameter.name), placement);
        }
      }
    }
  }
};

template <typename List>
struct chain_from;
template <typename... Entries>
struct chain_from<type_list<Entries...>> {
  using type = Chain<Entries...>;
};

} // namespace cleave::detail
