#pragma once

#include <concepts>
#include <cstdint>

#include <cleave/core/arena.hpp>
#include <cleave/core/parameter.hpp>
#include <cleave/core/random.hpp>
#include <cleave/core/scalar.hpp>
#include <cleave/core/tensor.hpp>
#include <cleave/device/operations.hpp>

namespace cleave {

/// The width of a layer that takes any: it maps rows of n features to rows of n features.
inline constexpr int any_width = 0;

/// One run over the model: where operations go, where activations are cut from, and what the rows are.
///
/// T is the compute type, G the type of parameter gradients. With `PlanningStream` and an arena without memory the
/// same code plans the activations.
template <typename Stream, scalar T, scalar G>
struct Pass {
  using Scalar = T;
  using Gradient = G;
  using Statistic = accumulator_t<T>;

  Stream& stream;
  Arena& arena;
  Shape shape;
  bool training = true;
  double dropout = 0;      ///< probability with which Dropout zeroes an element
  std::uint64_t key = 0;   ///< of this step's random numbers
  Index first_row = 0;     ///< where this rank's rows start in the global batch
  std::uint64_t draws = 0; ///< random masks drawn so far

  [[nodiscard]] constexpr Index rows() const { return shape.rows(); }

  template <typename Operation, typename... Views>
  constexpr void run(Operation operation, Views... views) {
    stream.run(operation, views...);
  }
  /// A buffer of `columns` features a row, valid until the arena is released below it.
  [[nodiscard]] constexpr Matrix<T> activation(Index columns) { return arena.matrix<T>(rows(), columns); }
  /// The key of the next random mask: the n-th draw of a step has the same key in recomputation.
  [[nodiscard]] constexpr std::uint64_t draw_key() { return derive_key(key, draws++); }
};

/// Runs nothing: what a memory plan is made with.
struct PlanningStream {
  template <typename... Views>
  constexpr void run(Views const&...) const {}
};

/// A layer's parameters (or their gradients) as views into the unit's flat buffer, in the order of its declaration.
template <typename T>
class Slots {
public:
  constexpr Slots() = default;
  constexpr Slots(T* flat, Index const* offsets) : flat_(flat), offsets_(offsets) {}

  [[nodiscard]] constexpr Matrix<T> matrix(int slot, Index rows, Index columns) const {
    return {flat_ == nullptr ? nullptr : flat_ + offsets_[slot], rows, columns};
  }
  [[nodiscard]] constexpr Vector<T> vector(int slot, Index size) const {
    return {flat_ == nullptr ? nullptr : flat_ + offsets_[slot], size};
  }
  /// The slots of a later sub-layer.
  [[nodiscard]] constexpr Slots skip(int count) const {
    return {flat_, offsets_ == nullptr ? nullptr : offsets_ + count};
  }

private:
  T* flat_ = nullptr;
  Index const* offsets_ = nullptr;
};

// What forward and backward of a layer take, for a Pass P.
template <typename P>
using ScalarOf = typename P::Scalar;
template <typename P>
using WeightsOf = Slots<typename P::Scalar const>;
template <typename P>
using GradientsOf = Slots<typename P::Gradient>;
template <typename P>
using InputOf = Matrix<typename P::Scalar const>;
template <typename P>
using OutputOf = Matrix<typename P::Scalar>;

/// Calls visit(Parameter) for each parameter of a layer, names prefixed.
///
/// A layer without sub-layers lists `parameters`; a composition has `describe(prefix, visit)`.
template <typename L, typename Visitor>
constexpr void for_each_parameter(Name prefix, Visitor&& visit) {
  if constexpr (requires { L::parameters; }) {
    for (Parameter parameter : L::parameters) {
      parameter.name = prefix.then(parameter.name);
      visit(parameter);
    }
  } else {
    L::describe(prefix, visit);
  }
}

template <typename L>
consteval int count_parameters() {
  int count = 0;
  cleave::for_each_parameter<L>(Name{}, [&](Parameter const&) { ++count; });
  return count;
}
template <typename L>
inline constexpr int parameter_count = count_parameters<L>();

/// Whether a layer's parameters bring names of their own (Named), so that a composition does not number it.
template <typename L>
inline constexpr bool names_itself = [] {
  if constexpr (requires { L::names_itself; }) {
    return bool{L::names_itself};
  } else {
    return false;
  }
}();

/// Whether backward needs the layer's output as it was, so that nobody may add to it in place.
template <typename L>
inline constexpr bool saves_output = [] {
  if constexpr (requires { L::saves_output; }) {
    return bool{L::saves_output};
  } else {
    return false;
  }
}();

/// How many tokens a layer that starts from token ids knows; 0 for a layer that takes rows of features.
template <typename L>
inline constexpr int vocabulary = [] {
  if constexpr (requires { L::vocabulary; }) {
    return int{L::vocabulary};
  } else {
    return 0;
  }
}();

/// The longest sequence that a layer can take; 0: any.
template <typename L>
inline constexpr int longest_sequence = [] {
  if constexpr (requires { L::longest_sequence; }) {
    return int{L::longest_sequence};
  } else {
    return 0;
  }
}();

/// A differentiable function of (weights, input), which knows nothing of ranks.
///
///   inputs, outputs     features a row, or any_width
///   parameters          an array of Parameter (or describe, for compositions)
///   Saved<T>            what backward needs: views that stay valid until then
///   forward(pass, weights, x, y, saved)                 writes y, (rows, outputs)
///   backward(pass, weights, gradients, saved, dy, dx)   adds to gradients; writes dx unless it is not wanted
///
/// x is Matrix<T const>, or Tokens for a layer that starts from token ids (which then ignores dx).
template <typename L>
concept layer = !requires { typename L::Target; } && requires {
  { L::inputs } -> std::convertible_to<int>;
  { L::outputs } -> std::convertible_to<int>;
  typename L::template Saved<double>;
} && (requires { L::parameters; } || requires { L::describe(Name{}, [](Parameter const&) {}); });

/// A layer that ends a model: it turns rows and targets into a sum and a weight.
///
///   Target              int32 or `Features` (a row of numbers)
///   value(pass, weights, x, targets, sum)                                     adds to *sum
///   value_and_gradient(pass, weights, gradients, x, targets, scale, dx, sum)  and writes dx, adds to gradients,
///                                                                             both times `scale`
template <typename L>
concept loss_layer = requires {
  { L::inputs } -> std::convertible_to<int>;
  typename L::Target;
} && (requires { L::parameters; } || requires { L::describe(Name{}, [](Parameter const&) {}); });

} // namespace cleave
