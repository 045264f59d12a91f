#pragma once

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace cleave::detail {

template <typename... Ts>
struct type_list {
  static constexpr std::size_t size = sizeof...(Ts);
};

// Declared, never defined: a fold over this operator concatenates without recursion.
template <typename... As, typename... Bs>
type_list<As..., Bs...> operator+(type_list<As...>, type_list<Bs...>);

template <std::size_t I, typename T>
struct indexed {
  T value{};
};

template <typename Indices, typename... Ts>
struct indexed_set;
template <std::size_t... Is, typename... Ts>
struct indexed_set<std::index_sequence<Is...>, Ts...> : indexed<Is, Ts>... {};

/// A value of each type, found by position in constant instantiation depth (what std::tuple does, at less cost).
template <typename... Ts>
struct indexed_values : indexed_set<std::index_sequence_for<Ts...>, Ts...> {};

template <std::size_t I, typename T>
constexpr T& get(indexed<I, T>& element) {
  return element.value;
}
template <std::size_t I, typename T>
constexpr T const& get(indexed<I, T> const& element) {
  return element.value;
}

template <std::size_t I, typename T>
struct numbered {};
template <typename Indices, typename... Ts>
struct numbered_set;
template <std::size_t... Is, typename... Ts>
struct numbered_set<std::index_sequence<Is...>, Ts...> : numbered<Is, Ts>... {};

template <std::size_t I, typename T>
std::type_identity<T> find_type(numbered<I, T>*);

/// The I-th type of a pack.
template <std::size_t I, typename... Ts>
using type_at = typename decltype(detail::find_type<I>(
    static_cast<numbered_set<std::index_sequence_for<Ts...>, Ts...>*>(nullptr)))::type;

/// Makes the compiler look at a check: a class named after what it judges, so that compilers print that, with
/// assertions in it. Always true, for a compiler may refuse to read a member of a class whose assertion failed.
template <typename Check>
inline constexpr bool looked_at = sizeof(Check) > 0;

/// Element i is the sum of the values before it.
template <int... Values>
consteval std::array<int, sizeof...(Values)> running_sum() {
  std::array<int, sizeof...(Values)> sums{};
  int sum = 0;
  std::size_t i = 0;
  ((sums[i++] = sum, sum += Values), ...);
  return sums;
}

} // namespace cleave::detail
