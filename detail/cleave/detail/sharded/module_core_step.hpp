#pragma once

#include <cleave/detail/sharded/module_core.hpp>

namespace cleave::detail {

// -- a step --------------------------------------------------------------------------------

template <typename C>
template <typename F>
auto ModuleCore<C>::guarded(F work) -> decltype(work()) {
  try {
    return work();
  } catch (std::exception const& error) {
    communicator_.abort(error.what());
    throw;
  }
}

template <typename C>
void ModuleCore<C>::begin(Shape shape, bool training, Index first_sequence) {
  if (first_sequence < -1) {
    throw InvalidArgument(
        "cleave::ShardedModule::loss: first_sequence is {}: expected 0 or more. Count the sequences of the "
        "global batch from 0, or leave it out.",
        first_sequence);
  }
  Index const counted = (micro_batches_ * communicator_.size() + communicator_.rank()) * options_.batch;
  Arena& activations = region(regions_, Buffer::activations);
  activations.release(0);
  pass_.emplace(compute_, activations, shape, training, options_.dropout,
                derive_key(derive_key(options_.seed, "dropout"), static_cast<std::uint64_t>(steps_)),
                (first_sequence < 0 ? counted : first_sequence) * shape.sequence);
  walk_.emplace(*pass_, schedule_, state_);
  schedule_.begin(training);
  gradients_.discard();
  pending_ = 0;
}

template <typename C>
Loss ModuleCore<C>::train_forward(std::span<Input const> input, std::span<Target const> targets, double scale,
                                  Index first_sequence) {
  begin(shape_of(input.size()), true, first_sequence);
  stage_input(input);
  double const weight = stage_targets(targets, pass_->rows());
  compute_.run(op::Fill{0}, Vector<double>{buffers_.loss, 1});
  output_ = detail::forward_for_training<C>(*walk_, *pass_, buffers_.inputs, buffers_.targets,
                                            scale * C::Reduction::seed(weight), buffers_.loss);
  pending_ = ++forwards_;
  return {read(buffers_.loss), weight, pending_};
}

template <typename C>
void ModuleCore<C>::require_forward(std::uint64_t forward) const {
  if (forward == 0 || forward != pending_) {
    throw Error(
        "cleave::ShardedModule::backward: this loss is not of the last forward, whose activations are all that is "
        "kept. Call backward after its loss, once, before the next forward.");
  }
}

template <typename C>
void ModuleCore<C>::train_backward(Loss const& loss) {
  require_forward(loss.forward);
  pending_ = 0;
  detail::backward_for_training<C>(*walk_, *pass_, output_, buffers_.targets);
  schedule_.end_backward();
  compute_.synchronize();
  totals_.add(communicator_, loss);
  ++micro_batches_;
}

template <typename C>
Loss ModuleCore<C>::evaluate_loss(std::span<Input const> input, std::span<Target const> targets) {
  begin(shape_of(input.size()), false, 0);
  stage_input(input);
  double const weight = stage_targets(targets, pass_->rows());
  compute_.run(op::Fill{0}, Vector<double>{buffers_.loss, 1});
  auto const output = walk_->forward(detail::input_of<C>(*pass_, buffers_.inputs));
  walk_->loss(output, detail::targets_of<C>(*pass_, buffers_.targets), buffers_.loss);
  schedule_.end_evaluation();
  return {read(buffers_.loss), weight, 0};
}

template <typename C>
std::vector<float> ModuleCore<C>::last_logits(std::span<Input const> input) {
  Index const width = std::max(1, input_width<C>);
  Index const rows = static_cast<Index>(input.size()) / width;
  if (rows < 1 || rows > options_.sequence || rows * width != static_cast<Index>(input.size())) {
    throw InvalidArgument(
        "cleave::ShardedModule::logits: expected one sequence of 1 to {} positions, found {}. Pass its last "
        "positions.",
        options_.sequence, rows);
  }
  begin({1, rows}, false, 0);
  stage_input(input);
  auto const output = walk_->forward(detail::input_of<C>(*pass_, buffers_.inputs));
  Matrix<T> const scores = pass_->arena.template matrix<T>(1, C::Chain::Last::outputs);
  walk_->logits(output.row_slice(rows - 1, 1), scores);
  schedule_.end_evaluation();
  std::vector<T> row(static_cast<std::size_t>(scores.columns));
  compute_.to_host(reinterpret_cast<std::byte*>(row.data()), reinterpret_cast<std::byte const*>(scores.data),
                   scores.columns * static_cast<Index>(sizeof(T)));
  compute_.synchronize();
  return {row.begin(), row.end()};
}

template <typename C>
auto ModuleCore<C>::train_output(std::span<Input const> input) -> std::vector<Master> {
  begin(shape_of(input.size()), true, -1);
  stage_input(input);
  output_ = detail::forward_for_training<C>(*walk_, *pass_, buffers_.inputs, buffers_.targets, 1, nullptr);
  pending_ = ++forwards_;
  std::vector<T> values(static_cast<std::size_t>(output_.rows * output_.columns));
  compute_.to_host(reinterpret_cast<std::byte*>(values.data()), reinterpret_cast<std::byte const*>(output_.data),
                   static_cast<Index>(values.size() * sizeof(T)));
  compute_.synchronize();
  return {values.begin(), values.end()};
}

template <typename C>
double ModuleCore<C>::norm() {
  require_gradients();
  compute_.run(op::Fill{0}, Vector<double>{buffers_.norm, 1});
  for (auto const& gradient : buffers_.reduced) {
    compute_.run(op::SquareSum{}, buffers_.norm, Vector<Gradient const>(gradient));
  }
  double sum = read(buffers_.norm);
  communicator_.all_reduce(comm::no_unit, std::span<double>(&sum, 1));
  return std::sqrt(sum);
}

template <typename C>
void ModuleCore<C>::require_gradients() const {
  if (micro_batches_ == 0) {
    throw Error(
        "cleave::ShardedModule: there is no gradient: expected a backward since the last step, found none. Call "
        "loss and backward first.");
  }
  if (totals_.empty()) {
    throw InvalidArgument(
        "cleave::ShardedModule: no row counts: expected at least one target that is not ignored, on some "
        "rank, found none. Leave such batches out.");
  }
}

// -- inputs and targets ------------------------------------------------------------------------

template <typename C>
Shape ModuleCore<C>::shape_of(std::size_t elements) const {
  Index const row = std::max(1, input_width<C>) * options_.sequence;
  auto const given = static_cast<Index>(elements);
  if (given == 0 || given % row != 0 || given / row > options_.batch) {
    throw InvalidArgument(
        "cleave::ShardedModule: an input of {} elements: expected 1 to {} sequences of {} each. Cut the batch "
        "into micro-batches, or raise ModelOptions::batch.",
        given, options_.batch, row);
  }
  return {given / row, options_.sequence};
}

/// Throws unless every id is one of `count`, or marked to be left out; returns how many count.
inline double check_ids(std::span<std::int32_t const> ids, int count, char const* what, bool may_ignore) {
  std::size_t ignored = 0;
  for (std::size_t i = 0; i != ids.size(); ++i) {
    bool const skip = may_ignore && ids[i] == ignored_target;
    ignored += skip ? 1 : 0;
    if (!skip && (ids[i] < 0 || ids[i] >= count)) {
      throw InvalidArgument(
          "cleave::ShardedModule: {} {} is {}: expected 0 to {}. Use the vocabulary that the model was made "
          "for.",
          what, i, ids[i], count - 1);
    }
  }
  return static_cast<double>(ids.size() - ignored);
}

template <typename C>
void ModuleCore<C>::stage_input(std::span<Input const> input) {
  if constexpr (input_width<C> == 0) {
    detail::check_ids(input, vocabulary<typename C::Chain::First>, "token", false);
  }
  stage(buffers_.inputs, input);
}

template <typename C>
double ModuleCore<C>::stage_targets(std::span<Target const> targets, Index rows) {
  Index const expected = rows * std::max(1, target_width<C>);
  if (static_cast<Index>(targets.size()) != expected) {
    throw InvalidArgument(
        "cleave::ShardedModule: {} targets for {} rows: expected {}. Pass as many as the input has rows.",
        targets.size(), rows, expected);
  }
  double weight = static_cast<double>(expected);
  if constexpr (target_width<C> == 0) {
    weight = detail::check_ids(targets, C::Chain::Last::outputs, "target", true);
  }
  stage(buffers_.targets, targets);
  return weight;
}

template <typename C>
void ModuleCore<C>::stage(Staging<Master> const& place, std::span<std::int32_t const> values) {
  compute_.from_host(reinterpret_cast<std::byte*>(place.ids.data), reinterpret_cast<std::byte const*>(values.data()),
                     static_cast<Index>(values.size_bytes()));
  compute_.synchronize(); // the caller's memory is free again
}
template <typename C>
void ModuleCore<C>::stage(Staging<Master> const& place, std::span<Master const> values) {
  compute_.from_host(reinterpret_cast<std::byte*>(place.features.data),
                     reinterpret_cast<std::byte const*>(values.data()), static_cast<Index>(values.size_bytes()));
  compute_.synchronize();
}

template <typename C>
double ModuleCore<C>::read(double const* value) {
  double host = 0;
  compute_.to_host(reinterpret_cast<std::byte*>(&host), reinterpret_cast<std::byte const*>(value), sizeof(host));
  compute_.synchronize();
  return host;
}

// -- reports -----------------------------------------------------------------------------------

template <typename C>
MemoryPlan ModuleCore<C>::allocated() const {
  MemoryPlan found;
  for (std::size_t i = 0; i != buffer_kinds; ++i) {
    found.bytes[i] = memory_[i].size();
  }
  found[Buffer::workspace] = Stream::workspace_bytes({threads_for(communicator_, options_.threads)}) +
                             Stream::workspace_bytes({1});
  return found;
}

template <typename C>
MemoryPlan ModuleCore<C>::high_water() const {
  MemoryPlan found = allocated();
  for (std::size_t i = 0; i != buffer_kinds; ++i) {
    found.bytes[i] = static_cast<Buffer>(i) == Buffer::workspace ? found.bytes[i] : regions_[i].high_water();
  }
  return found;
}

} // namespace cleave::detail
