#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <type_traits>

#include <cleave/detail/cpu/block.hpp>
#include <cleave/detail/cpu/functions.hpp>
#include <cleave/detail/cpu/parallel.hpp>
#include <cleave/detail/cpu/workspace.hpp>
#include <cleave/device/operations.hpp>

namespace cleave::detail::cpu {

/// Optimizers work through blocks of this many elements. All elements pass through one function, compiled once: a loop
/// with a remainder may round a b + c d one way in the loop and another way after it, and then weights would depend on
/// how they are sharded.
inline constexpr Index optimizer_block = 256;

/// Calls step(x...) for each block of the vectors; what does not fill a block is copied into one that does, and back.
template <typename Step, typename... X>
void for_each_optimizer_block(Index n, Step const& step, X*... x) {
  Index i = 0;
  for (; i + optimizer_block <= n; i += optimizer_block) {
    step((x + i)...);
  }
  if (i != n) {
    auto const padded = [&](std::remove_const_t<X>(&&... rest)[optimizer_block]) {
      (std::copy_n(x + i, n - i, rest), ...);
      step(rest...);
      auto const back = [&](auto const* from, auto* to) {
        if constexpr (!std::is_const_v<std::remove_pointer_t<decltype(to)>>) {
          std::copy_n(from, n - i, to + i);
        }
      };
      (back(rest, x), ...);
    };
    padded({static_cast<std::remove_const_t<X>>(0)}...);
  }
}

/// The settings of a step, in the type of the weights.
template <typename M>
struct AdamWStep {
  explicit AdamWStep(op::AdamW const& op)
      : keep(static_cast<M>(1 - op.learning_rate * op.weight_decay)),
        rate(static_cast<M>(op.learning_rate / (1 - std::pow(op.beta1, static_cast<double>(op.step))))),
        root(static_cast<M>(std::sqrt(1 - std::pow(op.beta2, static_cast<double>(op.step))))),
        beta1(static_cast<M>(op.beta1)), beta2(static_cast<M>(op.beta2)), rest1(static_cast<M>(1 - op.beta1)),
        rest2(static_cast<M>(1 - op.beta2)), epsilon(static_cast<M>(op.epsilon)),
        scale(static_cast<M>(op.gradient_scale)) {}

  /// In the order of operations of torch.optim.AdamW.
  template <typename G>
  [[gnu::noinline]] void operator()(M* __restrict weights, M* __restrict first, M* __restrict second,
                                    G const* __restrict gradient) const {
    for (Index i = 0; i != optimizer_block; ++i) {
      M const g = static_cast<M>(gradient[i]) * scale;
      first[i] = beta1 * first[i] + rest1 * g;
      second[i] = beta2 * second[i] + rest2 * g * g;
      weights[i] = weights[i] * keep - rate * (first[i] / (square_root(second[i]) / root + epsilon));
    }
  }

  M keep, rate, root, beta1, beta2, rest1, rest2, epsilon, scale;
};

template <typename M, typename Element>
void apply(Workspace& workspace, op::AdamW const& op, Vector<M> weights, Given<Vector<M>> first,
           Given<Vector<M>> second, Vector<Element> gradient) {
  assert(first.size == weights.size && second.size == weights.size && gradient.size == weights.size &&
         "AdamW: equal sizes");
  AdamWStep<M> const step(op);
  for_each_range(workspace.threads(), weights.size, optimizer_block, weights.size, [&](Index start, Index last) {
    for_each_optimizer_block(last - start, step, weights.data + start, first.data + start, second.data + start,
                             static_cast<Element const*>(gradient.data) + start);
  });
}

/// The settings of a step, in the type of the weights.
template <typename M>
struct SgdStep {
  explicit SgdStep(op::Sgd const& op)
      : rate(static_cast<M>(op.learning_rate)), decay(static_cast<M>(op.weight_decay)),
        scale(static_cast<M>(op.gradient_scale)), momentum(static_cast<M>(op.momentum)), nesterov(op.nesterov),
        start(op.step == 1) {}

  /// In the order of operations of torch.optim.SGD.
  template <typename G>
  [[gnu::noinline]] void operator()(M* __restrict weights, M* __restrict buffer, G const* __restrict gradient) const {
    for (Index i = 0; i != optimizer_block; ++i) {
      M const g = static_cast<M>(gradient[i]) * scale + decay * weights[i];
      buffer[i] = start ? g : momentum * buffer[i] + g; // at the start it may hold anything, even NaN
      weights[i] -= rate * (nesterov ? g + momentum * buffer[i] : buffer[i]);
    }
  }
  template <typename G>
  [[gnu::noinline]] void operator()(M* __restrict weights, G const* __restrict gradient) const {
    for (Index i = 0; i != optimizer_block; ++i) {
      weights[i] -= rate * (static_cast<M>(gradient[i]) * scale + decay * weights[i]);
    }
  }

  M rate, decay, scale, momentum;
  bool nesterov, start;
};

template <typename M, typename Element>
void apply(Workspace& workspace, op::Sgd const& op, Vector<M> weights, Given<Vector<M>> buffer,
           Vector<Element> gradient) {
  assert(gradient.size == weights.size && (buffer.data == nullptr || buffer.size == weights.size) &&
         "Sgd: equal sizes");
  assert((buffer.data != nullptr || op.momentum == 0) && "Sgd: momentum needs a buffer");
  SgdStep<M> const step(op);
  for_each_range(workspace.threads(), weights.size, optimizer_block, weights.size, [&](Index start, Index last) {
    auto const* const g = static_cast<Element const*>(gradient.data) + start;
    if (buffer.data == nullptr) {
      for_each_optimizer_block(last - start, step, weights.data + start, g);
    } else {
      for_each_optimizer_block(last - start, step, weights.data + start, buffer.data + start, g);
    }
  });
}

} // namespace cleave::detail::cpu
