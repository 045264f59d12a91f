#pragma once

#include <cstddef>

#include <cleave/core/error.hpp>
#include <cleave/core/tensor.hpp>

namespace cleave {

/// Every view cut from an arena starts on a cache line, and so does every shard.
inline constexpr Index alignment_bytes = 64;

[[nodiscard]] constexpr Index round_up(Index value, Index multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// A region of planned size that views are cut from, last in first out.
///
/// Without memory it only counts: the code that trains, run over such an arena, is the memory plan. So
/// plan and training cannot disagree. Throws Error when more is cut than was planned.
class Arena {
public:
  /// Counts only.
  constexpr Arena() = default;
  constexpr Arena(std::byte* first, Index bytes) : first_(first), capacity_(bytes) {}

  template <typename T>
  [[nodiscard]] constexpr Vector<T> vector(Index size) {
    return {take<T>(size), size};
  }
  template <typename T>
  [[nodiscard]] constexpr Matrix<T> matrix(Index rows, Index columns) {
    return {take<T>(rows * columns), rows, columns};
  }

  /// Where the next view will start; `release` takes everything cut since then back.
  [[nodiscard]] constexpr Index mark() const { return used_; }
  constexpr void release(Index mark) { used_ = mark; }

  /// The most bytes that were ever in use.
  [[nodiscard]] constexpr Index high_water() const { return high_water_; }
  [[nodiscard]] constexpr Index capacity() const { return capacity_; }

private:
  template <typename T>
  constexpr T* take(Index size) {
    Index const start = used_;
    used_ += round_up(size * static_cast<Index>(sizeof(T)), alignment_bytes);
    high_water_ = used_ > high_water_ ? used_ : high_water_;
    if (first_ == nullptr) {
      return nullptr;
    }
    if (used_ > capacity_) {
      overflow();
    }
    return reinterpret_cast<T*>(first_ + start);
  }

  [[noreturn]] void overflow() const {
    throw Error(
        "cleave::Arena: {} bytes are needed, but the plan has {}. Give the model the largest batch and sequence "
        "that it will see.",
        used_, capacity_);
  }

  std::byte* first_ = nullptr;
  Index capacity_ = 0;
  Index used_ = 0;
  Index high_water_ = 0;
};

} // namespace cleave
