#pragma once

#include <array>
#include <concepts>
#include <cstddef>

#include <cleave/core/parameter.hpp>

namespace cleave::optim {

/// What a group multiplies the optimizer's learning rate and weight decay by.
struct GroupScale {
  double learning_rate = 1;
  double weight_decay = 1;
};

/// Parameter groups, picked at compile time: `group_of` says which of `scales` a parameter takes.
template <typename G>
concept parameter_groups = requires(Parameter const& parameter) {
  { G::group_of(parameter) } -> std::convertible_to<std::size_t>;
  { G::scales[0] } -> std::convertible_to<GroupScale>;
};

/// One group: everything decays.
struct OneGroup {
  static constexpr std::array scales{GroupScale{}};
  static constexpr std::size_t group_of(Parameter const&) { return 0; }
};

/// Weight decay on matrices (embeddings included), none on vectors: biases and norms (as GPT-2 was trained).
struct DecayMatrices {
  static constexpr std::array scales{GroupScale{}, GroupScale{.weight_decay = 0}};
  static constexpr std::size_t group_of(Parameter const& parameter) { return parameter.shape.is_vector() ? 1 : 0; }
};

static_assert(parameter_groups<OneGroup> && parameter_groups<DecayMatrices>);

} // namespace cleave::optim
