#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <cleave/comm/communicator.hpp>
#include <cleave/comm/sum.hpp>
#include <cleave/core/scalar.hpp>
#include <cleave/core/tensor.hpp>
#include <cleave/detail/comm/check.hpp>
#include <cleave/detail/comm/copy.hpp>

namespace cleave::comm {

/// A world of one rank. The reference every other communicator is tested against.
class Self {
public:
  using policy_category = category::communicator;

  /// Already complete when returned.
  class Handle {
  public:
    Handle() = default;
    Handle(Handle&&) = default;
    Handle& operator=(Handle&&) = default;

    void wait() {}
    [[nodiscard]] bool test() { return true; }
  };

  /// Nothing here waits, so no deadline passes.
  explicit Self(Options = {}) {}
  Self(Self&&) = default;
  Self& operator=(Self&&) = default;

  [[nodiscard]] int rank() const { return 0; }
  [[nodiscard]] int size() const { return 1; }
  [[nodiscard]] int ranks_on_node() const { return 1; }

  template <typename T>
    requires std::is_trivially_copyable_v<T>
  [[nodiscard]] Handle all_gather(std::uint16_t, std::span<T const> mine, std::span<T> all) {
    detail::check_slices("all_gather", all.size(), mine.size(), 1);
    detail::copy_bytes(all.data(), mine.data(), mine.size_bytes());
    return {};
  }

  template <typename Wire, typename Sum>
    requires summable<Wire, Sum>
  [[nodiscard]] Handle reduce_scatter(std::uint16_t, std::span<Wire const> all, std::span<Sum> mine,
                                      std::span<std::byte>, Into into) {
    detail::check_slices("reduce_scatter", all.size(), mine.size(), 1);
    add_in_rank_order<Wire>(1, [all](int) { return all.data(); }, mine, into);
    return {};
  }

  template <typename Wire>
  [[nodiscard]] static constexpr Index reduce_scratch_bytes(Index, int) {
    return 0;
  }

  template <typename T>
    requires summable<T, T>
  void all_reduce(std::uint16_t, std::span<T>) {}

  template <typename T>
    requires std::is_trivially_copyable_v<T>
  void broadcast(std::uint16_t, std::span<T>, int root) {
    detail::check_root(root, 1);
  }

  void barrier() {}
  [[nodiscard]] Self split(int color, int) {
    detail::check_color(color, 0);
    return Self{};
  }

  void abort(std::string_view) noexcept {}
  void name_units(std::vector<std::string>) {}

  /// After a failure: whether this rank reports it for all.
  [[nodiscard]] bool speaks_for_all() noexcept { return true; }
};

static_assert(communicator<Self>);
static_assert(has_reduce_scatter<Self, double, double> && has_reduce_scatter<Self, bfloat16, float>);

} // namespace cleave::comm
