#include <cleave/comm/self.hpp>
#include <cleave/layers/activations.hpp>
#include <cleave/layers/linear.hpp>
#include <cleave/layers/mean_squared_error.hpp>
#include <cleave/sharded/sharded_module.hpp>

using namespace cleave;

template <typename... Args>
constexpr bool accepted = sizeof(ShardedModule<Args...>) > 0;
using Layer = Linear<2, 2>;

struct CannotReduce : comm::Self {
  using comm::Self::Self;
  [[nodiscard]] CannotReduce split(int, int) { return CannotReduce(); }
  void reduce_scatter() = delete; // hides the inherited one
};
struct OnlyFloat : comm::Self {
  using comm::Self::Self;
  [[nodiscard]] OnlyFloat split(int, int) { return OnlyFloat(); }
  [[nodiscard]] Handle all_gather(std::uint16_t unit, std::span<float const> mine, std::span<float> all) {
    return comm::Self::all_gather(unit, mine, all);
  }
};
struct WithoutStream {
  using policy_category = category::device;
  using Memory = device::Cpu::Memory;
  static constexpr bool poisons_released = false;
};

#if defined(CONTROL)
static_assert(accepted<Layer, MeanSquaredError<2>> && accepted<Layer> && accepted<Layer, comm::Self, device::Cpu>);
static_assert(accepted<Layer, OnlyFloat>);
// expect EMPTY: cleave::ShardedModule: there is no layer in the pack. List at least one
#elif defined(EMPTY)
static_assert(accepted<>);
// expect ONLY_POLICIES: cleave::ShardedModule: there is no layer in the pack. List at least one
#elif defined(ONLY_POLICIES)
static_assert(accepted<sharding::None, comm::Self>);
// expect NO_PARAMETERS: cleave::ShardedModule: no layer of the pack has parameters, .*Add one
#elif defined(NO_PARAMETERS)
static_assert(accepted<Gelu, MeanSquaredError<2>>);
// expect LOSS: cleave::ShardedModule: a loss \(see check_loss_last\) stands before other layers.*Move it
// expect LOSS: check_loss_last<cleave::MeanSquaredError<2>, false>
#elif defined(LOSS)
static_assert(accepted<Layer, MeanSquaredError<2>, Layer>);
// expect COMMUNICATOR: cleave::ShardedModule: the communicator lacks a member that training needs.*Add
// expect COMMUNICATOR: check_communicator<CannotReduce>
// expect COMMUNICATOR: has_reduce_scatter
#elif defined(COMMUNICATOR)
static_assert(accepted<Layer, CannotReduce>);
// expect WIRE: cleave::ShardedModule: the communicator has no collectives for .*Add them
// expect WIRE: check_wire<OnlyFloat, cleave::precision::Full<double
#elif defined(WIRE)
static_assert(accepted<Layer, OnlyFloat, precision::Full<double>>);
// expect DEVICE: cleave::ShardedModule: the device lacks a member that training needs.*Add
// expect DEVICE: check_device<WithoutStream>
#elif defined(DEVICE)
static_assert(accepted<Layer, WithoutStream>);
#endif
