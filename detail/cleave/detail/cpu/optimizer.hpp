#pragma once

#include <cassert>
#include <cmath>

#include <cleave/detail/cpu/block.hpp>
#include <cleave/detail/cpu/functions.hpp>
#include <cleave/detail/cpu/parallel.hpp>
#include <cleave/detail/cpu/workspace.hpp>
#include <cleave/device/operations.hpp>

namespace cleave::detail::cpu {

/// In the order of operations of torch.optim.AdamW.
template <typename M, typename G>
void adamw(op::AdamW const& op, M* __restrict weights, M* __restrict first, M* __restrict second,
           G const* __restrict gradient, Index n) {
  auto const step = static_cast<double>(op.step);
  M const keep = static_cast<M>(1 - op.learning_rate * op.weight_decay);
  M const rate = static_cast<M>(op.learning_rate / (1 - std::pow(op.beta1, step)));
  M const root = static_cast<M>(std::sqrt(1 - std::pow(op.beta2, step)));
  M const beta1 = static_cast<M>(op.beta1);
  M const beta2 = static_cast<M>(op.beta2);
  M const rest1 = static_cast<M>(1 - op.beta1);
  M const rest2 = static_cast<M>(1 - op.beta2);
  M const epsilon = static_cast<M>(op.epsilon);
  M const scale = static_cast<M>(op.gradient_scale);
  for (Index i = 0; i != n; ++i) {
    M const g = static_cast<M>(gradient[i]) * scale;
    first[i] = beta1 * first[i] + rest1 * g;
    second[i] = beta2 * second[i] + rest2 * g * g;
    weights[i] = weights[i] * keep - rate * (first[i] / (square_root(second[i]) / root + epsilon));
  }
}

template <typename M, typename Element>
void apply(Workspace& workspace, op::AdamW const& op, Vector<M> weights, Given<Vector<M>> first,
           Given<Vector<M>> second, Vector<Element> gradient) {
  assert(first.size == weights.size && second.size == weights.size && gradient.size == weights.size &&
         "AdamW: equal sizes");
  for_each_range(workspace.threads(), weights.size, block_size, weights.size, [&](Index start, Index last) {
    adamw(op, weights.data + start, first.data + start, second.data + start, gradient.data + start, last - start);
  });
}

/// In the order of operations of torch.optim.SGD.
template <typename M, typename G>
void sgd(op::Sgd const& op, M* __restrict weights, G const* __restrict gradient, Index n) {
  M const rate = static_cast<M>(op.learning_rate);
  M const decay = static_cast<M>(op.weight_decay);
  M const scale = static_cast<M>(op.gradient_scale);
  for (Index i = 0; i != n; ++i) {
    M const g = static_cast<M>(gradient[i]) * scale + decay * weights[i];
    weights[i] -= rate * g;
  }
}

template <typename M, typename G>
void sgd(op::Sgd const& op, M* __restrict weights, M* __restrict buffer, G const* __restrict gradient, Index n) {
  M const rate = static_cast<M>(op.learning_rate);
  M const decay = static_cast<M>(op.weight_decay);
  M const scale = static_cast<M>(op.gradient_scale);
  M const momentum = static_cast<M>(op.momentum);
  bool const start = op.step == 1; // the buffer may hold anything, even NaN
  for (Index i = 0; i != n; ++i) {
    M const g = static_cast<M>(gradient[i]) * scale + decay * weights[i];
    buffer[i] = start ? g : momentum * buffer[i] + g;
    weights[i] -= rate * (op.nesterov ? g + momentum * buffer[i] : buffer[i]);
  }
}

template <typename M, typename Element>
void apply(Workspace& workspace, op::Sgd const& op, Vector<M> weights, Given<Vector<M>> buffer,
           Vector<Element> gradient) {
  assert(gradient.size == weights.size && (buffer.data == nullptr || buffer.size == weights.size) &&
         "Sgd: equal sizes");
  assert((buffer.data != nullptr || op.momentum == 0) && "Sgd: momentum needs a buffer");
  for_each_range(workspace.threads(), weights.size, block_size, weights.size, [&](Index start, Index last) {
    if (buffer.data == nullptr) {
      sgd(op, weights.data + start, gradient.data + start, last - start);
    } else {
      sgd(op, weights.data + start, buffer.data + start, gradient.data + start, last - start);
    }
  });
}

} // namespace cleave::detail::cpu
