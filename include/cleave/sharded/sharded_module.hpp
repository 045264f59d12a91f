#pragma once

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <cleave/comm/self.hpp>
#include <cleave/detail/select_policy.hpp>
#include <cleave/detail/sharded/check_model.hpp>
#include <cleave/detail/sharded/module_core.hpp>
#include <cleave/detail/sharded/rewrite.hpp>
#include <cleave/device/cpu.hpp>
#include <cleave/layers/layer_list.hpp>
#include <cleave/policy/precision.hpp>
#include <cleave/policy/prefetch.hpp>
#include <cleave/policy/recompute.hpp>
#include <cleave/policy/reduction.hpp>
#include <cleave/policy/sharding.hpp>
#include <cleave/sharded/memory_plan.hpp>
#include <cleave/sharded/options.hpp>

namespace cleave {
namespace detail {

template <typename Arg>
inline constexpr bool is_layer = layer<Arg> || loss_layer<Arg> || composite_model<Arg>;

template <typename Arg>
inline constexpr bool is_policy = policy_of<Arg, category::precision> || policy_of<Arg, category::sharding> ||
                                  policy_of<Arg, category::prefetch> || policy_of<Arg, category::forward_prefetch> ||
                                  policy_of<Arg, category::reduction> || policy_of<Arg, category::recompute> ||
                                  policy_of<Arg, category::communicator> || policy_of<Arg, category::device>;

template <typename Arg>
struct check_argument {
  static_assert(
      is_layer<Arg> || is_policy<Arg>,
      "cleave::ShardedModule: an argument (see check_argument) is neither a layer (cleave/layers/layer.hpp) nor a "
      "policy (cleave/policy/category.hpp). Correct its name, or give it what a layer or a policy has.");
};

template <typename Policy, bool Complete>
struct check_policy {
  static_assert(Complete,
                "cleave::ShardedModule: a policy (see check_policy) lacks a member that its category needs. Add "
                "what the category's header in cleave/policy/ lists.");
};

template <int Depth, int Units>
struct check_depth {
  static_assert(Depth <= Units, "cleave::ShardedModule: the prefetch depth is larger than the number of units (see "
                                "check_depth<depth, units>). Lower it.");
};

template <typename C>
struct check_communicator {
  static_assert(communicator<C>, "cleave::ShardedModule: the communicator lacks a member that training needs (a note "
                                 "names it). Add what cleave/comm/communicator.hpp lists.");
};
template <typename C, typename Precision>
struct check_wire {
  static_assert(
      has_all_gather<C, typename Precision::Compute> &&
          has_reduce_scatter<C, typename Precision::Reduce, typename Precision::Reduce>,
      "cleave::ShardedModule: the communicator has no collectives for the number types of the precision policy (a "
      "note names one). Add them, or choose another precision.");
};
template <typename D>
struct check_device {
  static_assert(device_policy<D>, "cleave::ShardedModule: the device lacks a member that training needs (a note names "
                                  "it). Add what cleave/device/device.hpp lists.");
};

/// The entries of those arguments that are layers.
template <typename Arg, int Position>
consteval auto entries_or_nothing() {
  if constexpr (is_layer<Arg>) {
    return typename entries_of<Arg, Position>::type{};
  } else {
    return type_list<>{};
  }
}
template <typename... Args>
struct entries_of_pack {
private:
  static constexpr std::array<bool, sizeof...(Args)> layers{is_layer<Args>...};
  /// A layer's number among the layers: policies may stand anywhere.
  static consteval int position(std::size_t argument) {
    int before = 0;
    for (std::size_t i = 0; i != argument; ++i) {
      before += layers[i] ? 1 : 0;
    }
    return before;
  }
  template <std::size_t... I>
  static auto join(std::index_sequence<I...>)
      -> decltype((type_list<>{} + ... + detail::entries_or_nothing<Args, position(I)>()));

public:
  using type = decltype(join(std::index_sequence_for<Args...>{}));
};

/// From what the user wrote to a Configuration. The only place that validates. What can be worked with in spite of an
/// error is worked with; `accepted` says whether the rest can be instantiated without a flood of further errors.
template <typename... Args>
struct resolve {
  template <typename Category>
  static constexpr bool counted = looked_at<check_unique<Category, policies_of<Category, Args...>>>;
  static_assert((... && looked_at<check_argument<Args>>));
  static_assert(counted<category::precision> && counted<category::sharding> && counted<category::prefetch> &&
                counted<category::forward_prefetch> && counted<category::reduction> && counted<category::recompute> &&
                counted<category::communicator> && counted<category::device>);

  template <typename Category, typename Default>
  using select = select_policy<Category, Default, Args...>;
  using Precision = select<category::precision, precision::Full<float>>;
  using Sharding = select<category::sharding, sharding::Full>;
  using Prefetch = select<category::prefetch, prefetch::BackwardPre<>>;
  using Reduction = select<category::reduction, reduction::MeanOverWeight>;
  using Recompute = select<category::recompute, recompute::None>;
  using Communicator = select<category::communicator, comm::Self>;
  using Device = select<category::device, device::Cpu>;
  using DefaultForward = prefetch::Forward<std::is_same_v<Prefetch, prefetch::None> ? 0 : 1>;
  using Forward = select<category::forward_prefetch, DefaultForward>;

  using Entries = typename entries_of_pack<Args...>::type;
  static_assert(looked_for_recomputed<Recompute, Entries>);
  using Chain = typename chain_from<typename recompute_in<Recompute, Entries>::type>::type;

  template <typename Policy, bool Complete>
  static constexpr bool complete = looked_at<check_policy<Policy, Complete>> && Complete;
  static constexpr bool policies_accepted =
      complete<Precision, precision_policy<Precision>> && complete<Sharding, sharding_policy<Sharding>> &&
      complete<Prefetch, prefetch_policy<Prefetch>> && complete<Forward, forward_prefetch_policy<Forward>> &&
      complete<Reduction, reduction_policy<Reduction>> && complete<Recompute, recompute_policy<Recompute>>;
  static constexpr bool places_accepted = looked_at<check_communicator<Communicator>> && communicator<Communicator> &&
                                          looked_at<check_device<Device>> && device_policy<Device>;

  using type = Configuration<Chain, Precision, Sharding, Prefetch, Forward, Reduction, Communicator, Device>;
  static constexpr bool accepted = policies_accepted && places_accepted && accepted_model<Chain>;
};

/// How parts that are each right go together.
template <typename C>
inline constexpr bool checked_configuration =
    looked_at<check_wire<typename C::Communicator, typename C::Precision>> &&
    looked_at<check_depth<C::BackwardPrefetch::depth, C::units>> && looked_at<check_depth<C::Forward::depth, C::units>>;

/// What a module derives from whose arguments were rejected.
struct Rejected {
  template <typename Communicator>
  Rejected(Communicator&, ModelOptions);
};

template <typename Resolved>
struct module_base {
  using type = Rejected;
};
template <typename Resolved>
  requires(Resolved::accepted && checked_configuration<typename Resolved::type>)
struct module_base<Resolved> {
  using type = ModuleCore<typename Resolved::type>;
};

} // namespace detail

/// A model whose parameters, gradients and optimizer state are shards, one per rank: layers and policies in one pack,
/// in any order.
///
///     using Model = ShardedModule<Linear<784, 512>, Gelu, Linear<512, 10>, CrossEntropy<10>, comm::Threads>;
///     Model model(world, {.batch = 64});
///     auto const loss = model.loss(images, labels);
///     model.backward(loss);
///
/// Left out, a policy is the first of its category: float, full sharding, BackwardPre prefetch, MeanOverWeight, no
/// recomputation, one rank, the CPU. Each layer of the pack that has parameters is a unit; a Repeat<N, L> is N units; a
/// ready model's layers outside its Repeat are the root unit.
template <typename... Args>
class ShardedModule : public detail::module_base<detail::resolve<Args...>>::type {
  using Base = typename detail::module_base<detail::resolve<Args...>>::type;

public:
  using Base::Base;
};

} // namespace cleave
