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

template <int Outputs, int NextInputs>
inline constexpr bool widths_fit = Outputs == NextInputs || Outputs == any_width || NextInputs == any_width;

template <int Outputs, int NextInputs>
struct check_fit {
  static_assert(
      widths_fit<Outputs, NextInputs>,
      "cleave::layer: one layer's outputs are not the next layer's inputs (see check_fit<outputs, inputs> for "
      "both numbers). Make the two widths equal.");
};

/// Whether no layer but the first starts from tokens: rows arrive at the others.
template <typename... Ls>
inline constexpr bool tokens_come_first = [] {
  bool first = true;
  bool right = true;
  ((right = right && (first || vocabulary<Ls> == 0), first = false), ...);
  return right;
}();

template <typename... Ls>
struct check_tokens_first {
  static_assert(tokens_come_first<Ls...>,
                "cleave::layer: a layer that starts from tokens stands behind another layer. Put the Embedding first.");
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

template <typename Indices, typename... Ls>
inline constexpr bool checked_widths = true;
template <std::size_t... I, typename... Ls>
inline constexpr bool checked_widths<std::index_sequence<I...>, Ls...> =
    (... && looked_at<check_fit<arriving_widths<Ls...>[I], int{Ls::inputs}>>);

/// Looks whether each layer takes what the layers before it return. Always true, as looked_at is.
template <typename... Ls>
inline constexpr bool checked_fit =
    checked_widths<std::index_sequence_for<Ls...>, Ls...> && looked_at<check_tokens_first<Ls...>>;

/// How many features a row of L's output has, given its input.
template <typename L, typename T>
constexpr Index output_width(Matrix<T> x) {
  return L::outputs == any_width ? x.columns : L::outputs;
}
template <typename L>
constexpr Index output_width(Tokens) {
  static_assert(L::outputs != any_width,
                "cleave::layer: tokens go into a layer that takes rows of features. Begin with an Embedding.");
  return L::outputs;
}

} // namespace cleave::detail
