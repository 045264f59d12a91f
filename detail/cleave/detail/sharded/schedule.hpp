#pragma once

#include <algorithm>

#include <cleave/detail/sharded/gradients.hpp>
#include <cleave/detail/sharded/weights.hpp>

namespace cleave::detail {

/// When units are gathered, released and reduced: what a ChainPass calls at the door of every stage.
///
/// Units are numbered in forward order and the root comes first, so the next units in forward are unit + 1, ... and in
/// backward unit - 1, ...: nothing is traced.
template <typename C>
class Schedule {
public:
  Schedule(Weights<C>& weights, Gradients<C>& gradients) : weights_(weights), gradients_(gradients) {}

  /// Whether this walk ends with a backward, which needs weights and gradients to stay.
  void begin(bool training) {
    if constexpr (C::Sharding::reshards_after_forward) {
      release_ordinary(); // a forward without a backward leaves the loss's own unit
    }
    training_ = training;
    highest_ = C::roots - 1;
    lowest_ = C::units;
  }

  typename C::Compute const* enter_forward(int unit) {
    if (unit < 0) {
      return nullptr;
    }
    weights_.start(unit);
    highest_ = std::max(highest_, unit);
    for (int next = highest_ + 1; next <= unit + C::Forward::depth && next < C::units; ++next) {
      weights_.start(next);
      highest_ = next;
    }
    return weights_.require(unit);
  }
  void leave_forward(int unit) {
    if (unit >= C::roots && (C::Sharding::reshards_after_forward || (!training_ && C::Sharding::shards_parameters))) {
      weights_.release(unit);
    }
  }

  typename C::Compute const* enter_backward(int unit) {
    if (unit < 0) {
      return nullptr;
    }
    weights_.start(unit);
    lowest_ = unit < C::roots ? lowest_ : unit;
    if constexpr (C::BackwardPrefetch::before_gradient) {
      start_before_lowest();
    }
    return weights_.require(unit);
  }
  void leave_backward(int unit) {
    if (unit < C::roots) {
      return; // the root waits for its last gradient
    }
    if (C::Sharding::shards_parameters) {
      weights_.release(unit);
    }
    lowest_ = std::min(lowest_, unit); // a loss's own unit was not entered backward
    if constexpr (!C::BackwardPrefetch::before_gradient) {
      start_before_lowest();
    }
    gradients_.reduce(unit);
  }
  typename C::Gradient* gradients(int unit) { return unit < 0 ? nullptr : gradients_.open(unit); }

  /// After the first layer's gradient: the root's is complete too.
  void end_backward() {
    if (C::roots != 0) {
      gradients_.reduce(0);
    }
    release_rest();
    gradients_.finish();
  }
  /// After a forward that no backward follows.
  void end_evaluation() { release_rest(); }

private:
  void start_before_lowest() {
    for (int unit = lowest_ - 1; unit >= std::max(C::roots, lowest_ - C::BackwardPrefetch::depth); --unit) {
      weights_.start(unit);
    }
  }
  void release_rest() {
    if (C::Sharding::shards_parameters) {
      release_ordinary();
      if (C::roots != 0) {
        weights_.release(0);
      }
    }
  }
  void release_ordinary() {
    for (int unit = C::roots; unit != C::units; ++unit) {
      weights_.release(unit);
    }
  }

  Weights<C>& weights_;
  Gradients<C>& gradients_;
  bool training_ = true;
  int highest_ = -1; // the last unit that forward has started: the root's later stages start nothing again
  int lowest_ = 0;   // the unit that backward has come to
};

} // namespace cleave::detail
