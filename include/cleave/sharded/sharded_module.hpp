#pragma once

#include <type_traits>

#include <cleave/comm/self.hpp>
#include <cleave/detail/select_policy.hpp>
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

namespace cleave {
namespace detail {

template <typename Arg>
inline constexpr bool is_layer = layer<Arg> || loss_layer<Arg> || composite_model<Arg>;

/// Named after the one type it judges, so that a compiler prints check_argument<Culprit>.
template <typename Arg>
struct check_argument {
  static_assert(is_layer<Arg> || policy<Arg>,
                "cleave::ShardedModule: this argument (see check_argument below) is neither a layer (cleave/layers/layer.hpp) "
                "nor a policy (a type with a policy_category). Correct its name, or give it what a layer has.");
  static constexpr bool value = true;
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

/// From what the user wrote to a Configuration. The only place that validates.
template <typename... Args>
struct resolve {
  static_assert((... && check_argument<Args>::value));
  template <typename Category>
  static constexpr bool unique = check_unique<Category, policies_of<Category, Args...>>::value;
  static_assert(unique<category::precision> && unique<category::sharding> && unique<category::prefetch> &&
                unique<category::forward_prefetch> && unique<category::reduction> && unique<category::recompute> &&
                unique<category::communicator> && unique<category::device>);

  template <typename Category, typename Default>
  using select = select_policy<Category, Default, Args...>;
  using Precision = select<category::precision, precision::Full<float>>;
  using Sharding = select<category::sharding, sharding::Full>;
  using Prefetch = select<category::prefetch, prefetch::BackwardPre<>>;
  using Forward = select<category::forward_prefetch, prefetch::Forward<Prefetch::depth == 0 ? 0 : 1>>;
  using Reduction = select<category::reduction, reduction::MeanOverWeight>;
  using Recompute = select<category::recompute, recompute::None>;
  using Communicator = select<category::communicator, comm::Self>;
  using Device = select<category::device, device::Cpu>;

  using Entries = typename entries_of_pack<Args...>::type;
  static_assert(recompute_fits<Recompute, Entries>);
  using Chain = typename chain_from<typename recompute_in<Recompute, Entries>::type>::type;

  static_assert(Prefetch::depth <= Chain::units && Forward::depth <= Chain::units,
                "cleave::ShardedModule: the prefetch depth is beyond the number of units, so no memory could hold what it asks "
                "for. Lower it.");
  static_assert(communicator<Communicator>,
                "cleave::ShardedModule: the communicator lacks a collective or a member that training needs "
                "(cleave/comm/communicator.hpp); the note below names it. Add it.");
  static_assert(device_policy<Device>, "cleave::ShardedModule: the device lacks a member that training needs "
                                       "(cleave/device/device.hpp); the note below names it. Add it.");

  using type = Configuration<Chain, Precision, Sharding, Prefetch, Forward, Reduction, Communicator, Device>;
};

} // namespace detail

/// A model whose parameters, gradients and optimizer state are shards, one per rank: layers and policies in one pack, in
/// any order.
///
///     ShardedModule<Linear<784, 512>, Gelu, Linear<512, 10>, CrossEntropy<10>, comm::Threads> model(world, {.batch = 64});
///     auto const loss = model.loss(images, labels);
///     model.backward(loss);
///
/// Left out, a policy is the first of its category: float, full sharding, BackwardPre prefetch, MeanOverWeight, no
/// recomputation, one rank, the CPU. Each layer of the pack that has parameters is a unit; a Repeat<N, L> is N units; a
/// ready model's layers outside its Repeat are the root unit.
template <typename... Args>
class ShardedModule : public detail::ModuleCore<typename detail::resolve<Args...>::type> {
public:
  using detail::ModuleCore<typename detail::resolve<Args...>::type>::ModuleCore;
};

} // namespace cleave
