#pragma once

#include <concepts>
#include <cstdint>

#include <cleave/core/random.hpp>
#include <cleave/core/tensor.hpp>

namespace cleave::data {

/// What a global batch is cut from: windows of `context` tokens, each with the token after it as its last target.
struct WindowPlan {
  Index tokens = 0;       ///< in the text
  Index context = 0;      ///< tokens of a sequence
  Index global_batch = 0; ///< sequences of a step, over all ranks

  /// Windows that do not overlap (but for the target that is the next one's first token).
  [[nodiscard]] constexpr Index whole_windows() const { return tokens > context ? (tokens - 1) / context : 0; }
};

/// The answer of an order that has no sequence for this place: its targets are ignored.
inline constexpr Index no_window = -1;

/// Where the sequence at `place` of a step starts: a function of the global batch alone, so that any number of ranks
/// sees the same one. `steps` is how many steps there are, -1 for no end.
template <typename O>
concept window_order = std::copyable<O> && requires(O const& order, WindowPlan const& plan, Index step, Index place) {
                                              { order.start(plan, step, place) } -> std::same_as<Index>;
                                              { order.steps(plan) } -> std::same_as<Index>;
                                            };

/// Windows at random, each independent of the others, for as many steps as wanted.
struct RandomWindows {
  std::uint64_t seed = 0;

  [[nodiscard]] constexpr Index start(WindowPlan const& plan, Index step, Index sequence) const {
    auto const word = philox({static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(step >> 32),
                              static_cast<std::uint32_t>(sequence), static_cast<std::uint32_t>(sequence >> 32)},
                             derive_key(seed, "cleave::data::RandomWindows"));
    // 64 bits: the remainder favours no start by more than the text's length in 2^64.
    std::uint64_t const draw = std::uint64_t{word[0]} << 32U | word[1];
    return static_cast<Index>(draw % static_cast<std::uint64_t>(plan.tokens - plan.context));
  }
  [[nodiscard]] constexpr Index steps(WindowPlan const&) const { return -1; }
};

/// One window after the other, for as many steps as the text fills.
struct SequentialWindows {
  [[nodiscard]] constexpr Index start(WindowPlan const& plan, Index step, Index sequence) const {
    return (step * plan.global_batch + sequence) * plan.context;
  }
  [[nodiscard]] constexpr Index steps(WindowPlan const& plan) const { return plan.whole_windows() / plan.global_batch; }
};

/// Every whole window once, as validation wants it: the last step is filled up with sequences whose targets are
/// ignored.
struct EveryWindow {
  [[nodiscard]] constexpr Index start(WindowPlan const& plan, Index step, Index sequence) const {
    Index const window = step * plan.global_batch + sequence;
    return window < plan.whole_windows() ? window * plan.context : no_window;
  }
  [[nodiscard]] constexpr Index steps(WindowPlan const& plan) const {
    return (plan.whole_windows() + plan.global_batch - 1) / plan.global_batch;
  }
};

static_assert(window_order<RandomWindows> && window_order<SequentialWindows> && window_order<EveryWindow>);

} // namespace cleave::data
