#pragma once

#include <cleave/detail/sharded/module_core.hpp>

namespace cleave::detail {

// -- construction ------------------------------------------------------------------------

template <typename C>
int ModuleCore<C>::threads_for(Communicator const& communicator, int wanted) {
  int const cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return wanted > 0 ? wanted : std::max(1, cores / communicator.ranks_on_node());
}

template <typename C>
ModelOptions ModuleCore<C>::checked(ModelOptions options) {
  constexpr int longest = C::Chain::longest_sequence;
  if (options.batch < 1 || options.sequence < 1 || (longest != 0 && options.sequence > longest)) {
    throw InvalidArgument(
        "cleave::ShardedModule: a batch of {} sequences of {} positions does not fit the model: expected at "
        "least 1 of each, and at most {} positions. Change ModelOptions.",
        options.batch, options.sequence, longest);
  }
  if (options.threads < 0) {
    throw InvalidArgument(
        "cleave::ShardedModule: {} threads: expected a number of cores, or 0 for a share of this machine's. "
        "Change ModelOptions.",
        options.threads);
  }
  if (!(options.dropout >= 0 && options.dropout < 1)) {
    throw InvalidArgument(
        "cleave::ShardedModule: dropout is {}: expected a probability of at least 0 and below 1. Change "
        "ModelOptions.",
        options.dropout);
  }
  return options;
}

template <typename C>
ModuleCore<C>::ModuleCore(Communicator& communicator, ModelOptions options)
    : communicator_(communicator),
      options_(checked(options)),
      memory_(detail::allocate<typename Device::Memory>(
          plan({communicator.size(), options.batch, options.sequence, threads_for(communicator, options.threads), 0}))),
      compute_(StreamOptions{threads_for(communicator, options.threads)}),
      exchange_(StreamOptions{1}),
      regions_(detail::arenas_over(memory_)),
      buffers_(regions_, {options.batch, options.sequence}, communicator.size()),
      weights_({communicator_, compute_, exchange_}, buffers_),
      gradients_({communicator_, compute_, exchange_}, buffers_),
      schedule_(weights_, gradients_) {
  for (auto const& master : buffers_.master) {
    kept_elements_ += round_up(master.size, alignment_bytes / static_cast<Index>(sizeof(Master)));
  }
  name_units();
  guarded([&] { initialise(); });
}

template <typename C>
void ModuleCore<C>::name_units() {
  std::set<std::string, std::less<>> known;
  for_each_parameter([&](Name const& name, Parameter const&) {
    if (!known.emplace(name.view()).second) {
      throw InvalidArgument(
          "cleave::ShardedModule: two parameters are called '{}': expected a name for each. Give their "
          "layers different names with Named.",
          name.view());
    }
  });
  std::vector<std::string> names;
  for (int unit = 0; unit != units; ++unit) {
    names.emplace_back(C::Chain::unit_name(unit).view());
  }
  communicator_.name_units(names);
}

template <typename C>
void ModuleCore<C>::initialise() {
  for (auto const& master : buffers_.master) {
    compute_.run(op::Fill{0}, master); // padding stays zero for good
  }
  for_each_kept(true, [&](Stream& stream, Name const& name, Placement const& placement, Index first,
                          Vector<Master> weights) {
    Initialiser const& initialiser = placement.parameter.initialiser;
    stream.run(op::Initialise{derive_key(options_.seed, name.view()), first, static_cast<int>(initialiser.kind),
                              initialiser.scale},
               weights);
  });
}

// -- a rank's part of each parameter -------------------------------------------------------

template <typename C>
auto ModuleCore<C>::part_of(int unit, Placement const& placement, bool sharded) const -> Part {
  ShardLayout const layout = C::shard_layout(unit, communicator_.size());
  Index const start = sharded ? layout.first(communicator_.rank()) : 0;
  Index const end = sharded ? start + layout.count(communicator_.rank()) : layout.size;
  Index const first = std::max(start, placement.offset);
  Index const last = std::min(end, placement.offset + placement.size());
  return {first - placement.offset, std::max<Index>(0, last - first), first - start};
}

template <typename C>
template <typename Visitor>
void ModuleCore<C>::for_each_kept(bool written, Visitor visit) {
  C::Chain::for_each_placement([&](int unit, Name const& name, Placement const& placement) {
    Part const part = part_of(unit, placement, C::Sharding::shards_optimizer);
    if (part.count > 0) {
      visit(compute_, name, placement, part.first,
            buffers_.master[static_cast<std::size_t>(unit)].slice(part.kept, part.count));
    }
  });
  if (written) {
    weights_.changed();
    pending_ = 0; // activations are of the old weights
  }
}

template <typename C>
template <typename Update>
void ModuleCore<C>::update_weights(Update& update) {
  require_gradients();
  if constexpr (!C::Sharding::shards_optimizer) {
    gradients_.gather();
  }
  Index state = 0;
  int current = 0;
  C::Chain::for_each_placement([&](int unit, Name const& name, Placement const& placement) {
    for (; current != unit; ++current) {
      state += round_up(buffers_.master[static_cast<std::size_t>(current)].size,
                        alignment_bytes / static_cast<Index>(sizeof(Master)));
    }
    Part const part = part_of(unit, placement, C::Sharding::shards_optimizer);
    if (part.count > 0) {
      auto const u = static_cast<std::size_t>(unit);
      Vector<Gradient const> const gradient =
          C::Sharding::shards_optimizer ? buffers_.reduced[u] : gradients_.whole(unit);
      Parameter parameter = placement.parameter;
      parameter.name = name;
      update(compute_, parameter, buffers_.master[u].slice(part.kept, part.count), state + part.kept,
             gradient.slice(part.kept, part.count));
    }
  });
  weights_.changed();
  clear_gradients();
  compute_.synchronize(); // the optimizer may free its moments now
  pending_ = 0; // activations are of the old weights
  ++steps_;
}

template <typename C>
template <typename Element, typename Views, typename Visitor>
void ModuleCore<C>::visit_whole(Views const& kept, bool sharded, double scale, Visitor& visit) {
  typename Device::Memory memory(
      std::max(C::largest_padded(communicator_.size()), C::shard_layout(0, communicator_.size()).padded()) *
      static_cast<Index>(sizeof(Element)));
  std::vector<Element> values;
  int present = -1;
  auto const fetch = [&](int unit) {
    auto const u = static_cast<std::size_t>(unit);
    ShardLayout const layout = C::shard_layout(unit, communicator_.size());
    Vector<Element> const all{reinterpret_cast<Element*>(memory.data()), layout.padded()};
    Vector<Element const> source = kept[u];
    if (sharded) {
      exchange_.wait(compute_.record());
      auto transfer = exchange_.start([&ranks = communicator_, unit, source, all] { // by value: it may run later
        return ranks.all_gather(static_cast<std::uint16_t>(unit), detail::as_span(source), detail::as_span(all));
      });
      transfer.finish(compute_);
      source = all;
    }
    values.resize(static_cast<std::size_t>(layout.size));
    compute_.to_host(reinterpret_cast<std::byte*>(values.data()), reinterpret_cast<std::byte const*>(source.data),
                     layout.size * static_cast<Index>(sizeof(Element)));
    compute_.synchronize();
    for (Element& value : values) {
      value = static_cast<Element>(value * scale);
    }
    present = unit;
  };
  C::Chain::for_each_placement([&](int unit, Name const& name, Placement const& placement) {
    if (unit != present) {
      fetch(unit);
    }
    visit(name, placement,
          std::span<Element const>(values).subspan(static_cast<std::size_t>(placement.offset),
                                                   static_cast<std::size_t>(placement.size())));
  });
}

} // namespace cleave::detail
