#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <cleave/detail/sharded/chain.hpp>

namespace cleave::detail {

/// What forward leaves for backward, entry by entry.
template <typename E, typename T>
struct EntryState {
  std::array<typename E::Layer::template Saved<T>, E::count> saved;
  std::array<Matrix<T>, E::count> outputs;
};
template <typename E, typename T>
  requires loss_layer<typename E::Layer>
struct EntryState<E, T> {};

template <typename C, typename T>
struct chain_state;
template <typename... Es, typename T>
struct chain_state<Chain<Es...>, T> {
  using type = indexed_values<EntryState<Es, T>...>;
};

/// Runs a chain forward and backward over a Pass. `Units` makes weights present and takes gradients:
///
///   enter_forward(unit), enter_backward(unit)   the unit's flat parameter, gathered
///   gradients(unit)                             its gradient buffer, zeroed the first time in a step
///   leave_forward(unit), leave_backward(unit)   this stage is done with them
///
/// Unit -1 has no parameters. With a PlanningStream and null buffers the same walk plans the activations.
template <typename C, typename P, typename Units>
class ChainPass {
public:
  using T = typename P::Scalar;
  using State = typename chain_state<C, T>::type;

  constexpr ChainPass(P& pass, Units& units, State& state) : pass_(pass), units_(units), state_(state) {}

  /// The output of the last layer before the loss.
  template <typename X>
  constexpr Matrix<T const> forward(X input) {
    return forward_from<0>(input);
  }

  /// Backward through every layer before the loss, from the gradient of their output.
  constexpr void backward(Matrix<T const> dy) {
    if constexpr (C::has_loss) {
      units_.leave_backward(C::template unit_of<last>(0)); // its gradient is complete since loss_and_gradient
    }
    backward_from<C::body - 1>(dy);
  }

  /// The two buffers that gradients between stages alternate in. Cut before the loss writes the first of them.
  constexpr void cut_gradients(Matrix<T const> output) {
    Index width = output.columns; // a model that is only a loss has no other
    visit_widths([&](Index w) { width = std::max(width, w); });
    between_ = {pass_.activation(width), pass_.activation(width)};
  }
  [[nodiscard]] constexpr Matrix<T> loss_gradient(Matrix<T const> output) {
    return {between_[0].data, pass_.rows(), output.columns};
  }

  template <typename Targets>
  constexpr void loss(Matrix<T const> x, Targets targets, double* sum) {
    int const unit = C::template unit_of<last>(0);
    C::Last::value(pass_, weights<last>(units_.enter_forward(unit)), x, targets, sum);
    units_.leave_forward(unit);
  }
  /// Value and gradient at once, so that logits exist only once, and only a chunk of them.
  template <typename Targets>
  constexpr void loss_and_gradient(Matrix<T const> x, Targets targets, double scale, Matrix<T> dx, double* sum) {
    int const unit = C::template unit_of<last>(0);
    auto const w = weights<last>(units_.enter_forward(unit));
    C::Last::value_and_gradient(pass_, w, gradients<last>(unit), x, targets, scale, dx, sum);
  }
  constexpr void logits(Matrix<T const> x, Matrix<T> y) {
    int const unit = C::template unit_of<last>(0);
    C::Last::logits(pass_, weights<last>(units_.enter_forward(unit)), x, y);
    units_.leave_forward(unit);
  }

private:
  static constexpr std::size_t last = C::entries - 1;
  template <std::size_t E>
  using LayerAt = typename C::template EntryAt<E>::Layer;

  template <std::size_t E>
  static constexpr Slots<T const> weights(T const* flat) {
    return {flat, C::template slots<E>.data()};
  }
  template <std::size_t E>
  constexpr Slots<typename P::Gradient> gradients(int unit) {
    return {units_.gradients(unit), C::template slots<E>.data()};
  }

  template <std::size_t E, typename X>
  constexpr Matrix<T const> forward_from(X x) {
    if constexpr (E == C::body) {
      return x;
    } else {
      Matrix<T const> y = forward_stage<E>(x, 0);
      if constexpr (C::template EntryAt<E>::is_repeat) {
        for (int i = 1; i != C::template EntryAt<E>::count; ++i) {
          y = forward_stage<E>(y, i);
        }
      }
      return forward_from<E + 1>(y);
    }
  }

  template <std::size_t E, typename X>
  constexpr Matrix<T const> forward_stage(X x, int i) {
    using Layer = LayerAt<E>;
    auto& state = detail::get<E>(state_);
    auto const index = static_cast<std::size_t>(i);
    int const unit = C::template unit_of<E>(i);
    Matrix<T> const y = pass_.activation(detail::output_width<Layer>(x));
    Layer::forward(pass_, weights<E>(units_.enter_forward(unit)), x, y, state.saved[index]);
    state.outputs[index] = y;
    units_.leave_forward(unit);
    return y;
  }

  template <int E>
  constexpr void backward_from(Matrix<T const> dy) {
    if constexpr (E >= 0) {
      for (int i = C::template EntryAt<E>::count - 1; i >= 0; --i) {
        dy = backward_stage<E>(dy, i);
      }
      backward_from<E - 1>(dy);
    }
  }

  template <int E>
  constexpr Matrix<T const> backward_stage(Matrix<T const> dy, int i) {
    using Layer = LayerAt<E>;
    int const unit = C::template unit_of<E>(i);
    Matrix<T> const dx = gradient_before<E>(dy, i);
    auto const w = weights<E>(units_.enter_backward(unit));
    auto const& saved = detail::get<E>(state_).saved[static_cast<std::size_t>(i)];
    Layer::backward(pass_, w, gradients<E>(unit), saved, dy, dx);
    units_.leave_backward(unit);
    return dx;
  }

  /// Where the gradient of a stage's input goes: the buffer that dy is not in. The first stage's is not wanted.
  template <int E>
  constexpr Matrix<T> gradient_before(Matrix<T const> dy, int i) {
    if (E == 0 && i == 0) {
      return {};
    }
    turn_ = !turn_;
    Index const width = i > 0 ? dy.columns : output_before<E>().columns;
    return {between_[turn_ ? 1 : 0].data, pass_.rows(), width};
  }
  template <int E>
  constexpr Matrix<T> output_before() {
    if constexpr (E == 0) {
      return {};
    } else {
      return detail::get<E - 1>(state_).outputs[C::template EntryAt<E - 1>::count - 1];
    }
  }

  template <typename Visitor>
  constexpr void visit_widths(Visitor visit) {
    [&]<std::size_t... E>(std::index_sequence<E...>) {
      (visit(detail::get<E>(state_).outputs[0].columns), ...);
    }(std::make_index_sequence<C::body>{});
  }

  P& pass_;
  Units& units_;
  State& state_;
  std::array<Matrix<T>, 2> between_{};
  bool turn_ = false;
};

/// No weights, no gradients: what activations are planned with.
template <typename T, typename G>
struct NoUnits {
  constexpr T const* enter_forward(int) { return nullptr; }
  constexpr T const* enter_backward(int) { return nullptr; }
  constexpr G* gradients(int) { return nullptr; }
  constexpr void leave_forward(int) {}
  constexpr void leave_backward(int) {}
};

} // namespace cleave::detail
