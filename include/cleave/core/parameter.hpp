#pragma once

#include <concepts>

#include <cleave/core/name.hpp>
#include <cleave/core/tensor.hpp>

namespace cleave {

/// How a parameter gets its first values (PyTorch's torch.nn.init).
struct Initialiser {
  enum class Kind { constant, normal, uniform };

  Kind kind = Kind::constant;
  double scale = 0; ///< the constant; the standard deviation; or the bound, values lie in (-scale, scale)

  friend constexpr bool operator==(Initialiser const&, Initialiser const&) = default;
};

namespace init {

/// The square root, for bounds that follow from a width (std::sqrt is no constant expression).
constexpr double square_root(double x) {
  double root = x > 1 ? x : 1;
  for (double next = 0; (next = (root + x / root) / 2) < root;) {
    root = next;
  }
  return root;
}

constexpr Initialiser constant(double value) { return {Initialiser::Kind::constant, value}; }
constexpr Initialiser zeros() { return constant(0); }
constexpr Initialiser ones() { return constant(1); }
constexpr Initialiser normal(double deviation) { return {Initialiser::Kind::normal, deviation}; }
constexpr Initialiser uniform(double bound) { return {Initialiser::Kind::uniform, bound}; }
/// PyTorch's default for torch.nn.Linear: uniform within 1 / sqrt(inputs).
constexpr Initialiser fan_in(Index inputs) { return uniform(1 / square_root(static_cast<double>(inputs))); }
} // namespace init

/// The extents of a parameter, one or two of them.
struct Extents {
  Index rows = 0;    ///< of a matrix; the elements of a vector
  Index columns = 0; ///< 0: a vector

  [[nodiscard]] constexpr bool is_vector() const { return columns == 0; }
  [[nodiscard]] constexpr Index size() const { return is_vector() ? rows : rows * columns; }
  friend constexpr bool operator==(Extents const&, Extents const&) = default;
};

/// One parameter as a layer declares it: name, shape, first values.
struct Parameter {
  Name name;
  Extents shape;
  Initialiser initialiser;
  bool tied = false; ///< a second view of the parameter called `name`, which another layer owns
};

} // namespace cleave
