#pragma once

#include <concepts>

#include <cleave/detail/sharded/buffers.hpp>
#include <cleave/detail/sharded/chain_pass.hpp>

namespace cleave::detail {

/// Staged features as rows of the compute type: themselves, or a cast of them.
template <typename C, typename P>
constexpr Matrix<typename C::Compute const> computed_features(P& pass, Staging<typename C::Master> const& staging,
                                                              Index width) {
  using Compute = typename C::Compute;
  using Master = typename C::Master;
  if constexpr (std::same_as<Compute, Master>) {
    return {staging.features.data, pass.rows(), width};
  } else {
    Matrix<Compute> const features = pass.activation(width);
    pass.run(op::Cast{}, Vector<Compute>{features.data, pass.rows() * width},
             Vector<Master const>{staging.features.data, pass.rows() * width});
    return features;
  }
}

/// The model's input as its first layer takes it: the staged ids, or the features in the compute type.
template <typename C, typename P>
constexpr auto input_of(P& pass, Staging<typename C::Master> const& staging) {
  if constexpr (input_width<C> == 0) {
    return Tokens{staging.ids.data, pass.rows()};
  } else {
    return detail::computed_features<C>(pass, staging, input_width<C>);
  }
}
template <typename C, typename P>
constexpr auto targets_of(P& pass, Staging<typename C::Master> const& staging) {
  if constexpr (target_width<C> == 0) {
    return Tokens{staging.ids.data, pass.rows()};
  } else {
    return detail::computed_features<C>(pass, staging, target_width<C>);
  }
}

/// Forward with what backward needs. A loss leaves the gradient of its input, which is returned.
template <typename C, typename Walk, typename P>
constexpr Matrix<typename C::Compute const>
forward_for_training(Walk& walk, P& pass, Staging<typename C::Master> const& inputs,
                     Staging<typename C::Master> const& targets, double scale, double* sum) {
  Matrix<typename C::Compute const> const output = walk.forward(detail::input_of<C>(pass, inputs));
  walk.cut_gradients(output);
  if constexpr (C::Chain::has_loss) {
    Matrix<typename C::Compute> const gradient = walk.loss_gradient(output);
    walk.loss_and_gradient(output, detail::targets_of<C>(pass, targets), scale, gradient, sum);
    return gradient;
  } else {
    return output;
  }
}

/// Backward from the loss's gradient, or from the one that the caller gave where there is no loss.
template <typename C, typename Walk, typename P>
constexpr void backward_for_training(Walk& walk, P& pass, Matrix<typename C::Compute const> output,
                                     Staging<typename C::Master> const& targets) {
  if constexpr (C::Chain::has_loss) {
    walk.backward(output);
  } else {
    Matrix<typename C::Compute> const gradient = walk.loss_gradient(output);
    pass.run(op::Copy{}, gradient, detail::targets_of<C>(pass, targets));
    walk.backward(gradient);
  }
}

} // namespace cleave::detail
