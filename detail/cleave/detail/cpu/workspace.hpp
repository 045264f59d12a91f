#pragma once

#include <span>

#include <cleave/core/arena.hpp>
#include <cleave/core/tensor.hpp>
#include <cleave/detail/cpu/memory.hpp>

namespace cleave::detail::cpu {

/// What the operations of one stream need beside their operands, allocated once: for each thread the two packed
/// blocks of a matrix product and an area for tiles, and for all of them a list of sums.
class Workspace {
public:
  static constexpr Index left_bytes = Index{1} << 20;
  static constexpr Index right_bytes = Index{768} << 10;
  static constexpr Index tile_bytes = Index{1} << 20;
  static constexpr Index sums = 1024;

  [[nodiscard]] static constexpr Index bytes(int threads) {
    return threads * (left_bytes + right_bytes + tile_bytes) + sums * static_cast<Index>(sizeof(double));
  }

  explicit Workspace(int threads) : threads_(threads), memory_(bytes(threads)) {}

  [[nodiscard]] int threads() const { return threads_; }

  template <typename T>
  [[nodiscard]] std::span<T> left(int thread) const {
    return area<T>(thread, 0, left_bytes);
  }
  template <typename T>
  [[nodiscard]] std::span<T> right(int thread) const {
    return area<T>(thread, left_bytes, right_bytes);
  }
  template <typename T>
  [[nodiscard]] std::span<T> tiles(int thread) const {
    return area<T>(thread, left_bytes + right_bytes, tile_bytes);
  }
  /// For sums that threads make apart and one adds up in order.
  [[nodiscard]] std::span<double> partial_sums() const {
    return {reinterpret_cast<double*>(memory_.data() + threads_ * per_thread), static_cast<std::size_t>(sums)};
  }

private:
  static constexpr Index per_thread = left_bytes + right_bytes + tile_bytes;

  template <typename T>
  [[nodiscard]] std::span<T> area(int thread, Index offset, Index size) const {
    return {reinterpret_cast<T*>(memory_.data() + thread * per_thread + offset),
            static_cast<std::size_t>(size) / sizeof(T)};
  }

  int threads_;
  Memory memory_;
};

} // namespace cleave::detail::cpu
