#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include <cleave/detail/type_list.hpp>
#include <cleave/layers/layer.hpp>

namespace cleave::detail {

/// The first width of a row of layers that is fixed, or any_width.
template <int... Widths>
consteval int first_width() {
  int width = any_width;
  ((width = width == any_width ? Widths : width), ...);
  return width;
}
template <int... Widths>
consteval int last_width() {
  int width = any_width;
  ((width = Widths == any_width ? width : Widths), ...);
  return width;
}

/// The least of some limits, of which 0 is none.
template <int... Limits>
consteval int least_limit() {
  int least = 0;
  ((least = Limits != 0 && (least == 0 || Limits < least) ? Limits : least), ...);
  return least;
}

/// Named after the two widths it judges, so that a compiler prints them.
template <int Outputs, int NextInputs>
struct check_fit {
  static_assert(Outputs == NextInputs || Outputs == any_width || NextInputs == any_width,
                "cleave::Sequential: a layer's outputs are not the next layer's inputs (check_fit<outputs, inputs> below "
                "has both numbers). Make the two widths equal.");
  static constexpr bool value = true;
};

/// Features a row that a layer returns. A loss ends the row: it returns none.
template <typename L>
consteval int outputs_of() {
  if constexpr (requires { L::outputs; }) {
    return L::outputs;
  } else {
    return any_width;
  }
}

/// Element i is the width that arrives at layer i: the last fixed one before it.
template <typename... Ls>
inline constexpr std::array<int, sizeof...(Ls)> arriving_widths = [] {
  std::array<int, sizeof...(Ls)> widths{};
  int width = any_width;
  std::size_t i = 0;
  ((widths[i++] = width, width = outputs_of<Ls>() == any_width ? width : outputs_of<Ls>()), ...);
  return widths;
}();

template <typename... Ls, std::size_t... I>
consteval bool all_fit(std::index_sequence<I...>) {
  return (... && check_fit<arriving_widths<Ls...>[I], int{Ls::inputs}>::value);
}
/// Whether each layer takes what the layers before it return. Otherwise a static_assert says where not.
template <typename... Ls>
consteval bool all_fit() {
  return detail::all_fit<Ls...>(std::index_sequence_for<Ls...>{});
}

/// How many features a row of L's output has, given its input.
template <typename L, typename T>
constexpr Index output_width(Matrix<T> x) {
  return L::outputs == any_width ? x.columns : L::outputs;
}
template <typename L>
constexpr Index output_width(Tokens) {
  static_assert(L::outputs != any_width, "cleave::Sequential: tokens go into a layer that takes rows of features. "
                                         "Begin with an Embedding.");
  return L::outputs;
}

} // namespace cleave::detail
