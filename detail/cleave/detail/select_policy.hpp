#pragma once

#include <cstddef>

#include <cleave/detail/type_list.hpp>
#include <cleave/policy/category.hpp>

namespace cleave::detail {

template <typename Category, typename... Args>
inline constexpr int policies_of = (0 + ... + int{policy_of<Args, Category>});

/// Position of the first policy of a category. The caller appends a default, so there is one.
template <typename Category, typename... Args>
consteval std::size_t first_policy() {
  constexpr bool matches[] = {policy_of<Args, Category>...};
  std::size_t i = 0;
  while (!matches[i]) {
    ++i;
  }
  return i;
}

/// The policy that the user gave for a category, or the default.
template <typename Category, typename Default, typename... Args>
using select_policy = type_at<first_policy<Category, Args..., Default>(), Args..., Default>;

template <typename Category, int Count>
struct check_unique {
  static_assert(Count <= 1,
                "cleave::ShardedModule: two policies of one category are in the pack (see check_unique<category, "
                "number>). Keep one of them.");
};

} // namespace cleave::detail
