#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include <cleave/detail/layers/fit.hpp>
#include <cleave/detail/type_list.hpp>
#include <cleave/layers/layer.hpp>

namespace cleave {

/// Layers one after the other (torch.nn.Sequential). Parameters are called by the position of their layer ("0.weight"),
/// unless the layer names itself.
template <layer... Ls>
struct Sequential {
  static_assert(sizeof...(Ls) > 0, "cleave::Sequential<>: there is no layer. List at least one.");
  static_assert(detail::checked_fit<Ls...>);

  static constexpr int inputs = detail::first_width<Ls::inputs...>();
  static constexpr int outputs = detail::last_width<Ls::outputs...>();
  static constexpr bool names_itself = (... && (parameter_count<Ls> == 0 || cleave::names_itself<Ls>));
  static constexpr int vocabulary = cleave::vocabulary<detail::type_at<0, Ls...>>;
  static constexpr int longest_sequence = detail::least_limit<cleave::longest_sequence<Ls>...>();
  static constexpr bool saves_output = cleave::saves_output<detail::type_at<sizeof...(Ls) - 1, Ls...>>;

private:
  static constexpr std::size_t count = sizeof...(Ls);
  static constexpr std::array first_slot = detail::running_sum<parameter_count<Ls>...>();

  template <std::size_t I>
  using Layer = detail::type_at<I, Ls...>;

public:
  template <typename T>
  struct Saved {
    detail::indexed_values<typename Ls::template Saved<T>...> inner;
    std::array<Matrix<T>, count - 1> outputs; // of every layer but the last
  };

  template <typename Visitor>
  static constexpr void describe(Name prefix, Visitor&& visit) {
    int position = 0;
    ((cleave::for_each_parameter<Ls>(cleave::names_itself<Ls> ? prefix : prefix.then(position), visit), ++position),
     ...);
  }

  template <typename P, typename X>
  static constexpr void forward(P& pass, WeightsOf<P> weights, X x, OutputOf<P> y, Saved<ScalarOf<P>>& saved) {
    forward_from<0>(pass, weights, x, y, saved);
  }

  template <typename P>
  static constexpr void backward(P& pass, WeightsOf<P> weights, GradientsOf<P> gradients,
                                 Saved<ScalarOf<P>> const& saved, InputOf<P> dy, OutputOf<P> dx) {
    // Between layers, gradients alternate between two buffers, each as wide as the widest of them.
    Index const mark = pass.arena.mark();
    Index width = 0;
    for (auto const& output : saved.outputs) {
      width = std::max(width, output.columns);
    }
    OutputOf<P> const first = pass.activation(count > 1 ? width : 0);
    OutputOf<P> const second = pass.activation(count > 2 ? width : 0);
    backward_from<count - 1>(pass, weights, gradients, saved, dy, dx, {first, second});
    pass.arena.release(mark);
  }

private:
  template <std::size_t I, typename P, typename X>
  static constexpr void forward_from(P& pass, WeightsOf<P> weights, X x, OutputOf<P> y, Saved<ScalarOf<P>>& saved) {
    auto& inner = detail::get<I>(saved.inner);
    if constexpr (I + 1 == count) {
      Layer<I>::forward(pass, weights.skip(first_slot[I]), x, y, inner);
    } else {
      saved.outputs[I] = pass.activation(detail::output_width<Layer<I>>(x));
      Layer<I>::forward(pass, weights.skip(first_slot[I]), x, saved.outputs[I], inner);
      forward_from<I + 1>(pass, weights, InputOf<P>(saved.outputs[I]), y, saved);
    }
  }

  template <std::size_t I, typename P>
  static constexpr void backward_from(P& pass, WeightsOf<P> weights, GradientsOf<P> gradients,
                                      Saved<ScalarOf<P>> const& saved, InputOf<P> dy, OutputOf<P> dx,
                                      std::array<OutputOf<P>, 2> between) {
    WeightsOf<P> const w = weights.skip(first_slot[I]);
    GradientsOf<P> const g = gradients.skip(first_slot[I]);
    auto const& inner = detail::get<I>(saved.inner);
    if constexpr (I == 0) {
      Layer<I>::backward(pass, w, g, inner, dy, dx);
    } else {
      OutputOf<P> const mine(between[(I - 1) % 2].data, pass.rows(), saved.outputs[I - 1].columns);
      Layer<I>::backward(pass, w, g, inner, dy, mine);
      backward_from<I - 1>(pass, weights, gradients, saved, InputOf<P>(mine), dx, between);
    }
  }
};

} // namespace cleave
