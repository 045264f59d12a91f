#pragma once

#include <cstddef>

#include <cleave/detail/sharded/training_pass.hpp>
#include <cleave/sharded/memory_plan.hpp>

namespace cleave::detail {

/// Walks one training step over an arena that only counts.
template <typename C>
constexpr void plan_activations(Arena& arena, Shape shape) {
  using Planning = Pass<PlanningStream, typename C::Compute, typename C::Gradient>;
  using Units = NoUnits<typename C::Compute, typename C::Gradient>;
  using Walk = ChainPass<typename C::Chain, Planning, Units>;
  PlanningStream stream;
  Planning pass{stream, arena, shape};
  Units units;
  typename Walk::State state{};
  Walk walk(pass, units, state);
  auto const gradient = detail::forward_for_training<C>(walk, pass, {}, {}, 1, nullptr);
  detail::backward_for_training<C>(walk, pass, gradient, {});
}

/// Cuts everything that the engine will cut, from arenas without memory.
template <typename C>
constexpr MemoryPlan make_plan(PlanOptions options) {
  using Stream = typename C::Device::Stream;
  using Master = typename C::Master;
  Regions regions{};
  Buffers<C> const buffers(regions, {options.batch, options.sequence}, options.ranks);
  detail::plan_activations<C>(region(regions, Buffer::activations), {options.batch, options.sequence});
  MemoryPlan plan;
  for (std::size_t i = 0; i != buffer_kinds; ++i) {
    plan.bytes[i] = regions[i].high_water();
  }
  for (auto const& master : buffers.master) {
    plan[Buffer::optimizer_state] +=
        options.moments * round_up(master.size * static_cast<Index>(sizeof(Master)), alignment_bytes);
  }
  plan[Buffer::workspace] = Stream::workspace_bytes({options.threads}) + Stream::workspace_bytes({1});
  return plan;
}

} // namespace cleave::detail
