#pragma once

#include <concepts>

namespace cleave {

/// The questions a ShardedModule asks. A policy is a type that answers one of them, and says which.
namespace category {
struct precision {};
struct sharding {};
struct prefetch {};
struct forward_prefetch {};
struct reduction {};
struct recompute {};
struct communicator {};
struct device {};
} // namespace category

template <typename T>
concept policy = requires { typename T::policy_category; };

template <typename T, typename Category>
concept policy_of = policy<T> && std::same_as<typename T::policy_category, Category>;

} // namespace cleave
