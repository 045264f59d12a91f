#pragma once

#include <cstring>
#include <optional>
#include <utility>

#include <cleave/core/tensor.hpp>
#include <cleave/detail/cpu/attention.hpp>
#include <cleave/detail/cpu/attention_gradient.hpp>
#include <cleave/detail/cpu/elementwise.hpp>
#include <cleave/detail/cpu/embedding.hpp>
#include <cleave/detail/cpu/loss.hpp>
#include <cleave/detail/cpu/matmul.hpp>
#include <cleave/detail/cpu/memory.hpp>
#include <cleave/detail/cpu/norm.hpp>
#include <cleave/detail/cpu/optimizer.hpp>
#include <cleave/detail/cpu/random.hpp>
#include <cleave/detail/cpu/sums.hpp>
#include <cleave/detail/cpu/workspace.hpp>
#include <cleave/device/device.hpp>
#include <cleave/policy/category.hpp>

namespace cleave::device {

/// The processor: host memory, operations done when `run` returns, and the reference for other devices. Matrix
/// products are Cleave's own kernel or, as the build option `blas` says, Eigen's or OpenBLAS's; attention always uses
/// the own one, and other operations are loops that compilers vectorise. Results do not depend on the number of
/// threads, to the bit; but with OpenBLAS, whose kernels follow the size of a product, the last bits may.
struct Cpu {
  using policy_category = category::device;

#if defined(NDEBUG)
  static constexpr bool poisons_released = false;
#else
  static constexpr bool poisons_released = true;
#endif

  using Memory = detail::cpu::Memory;

  /// A collective that was started when the stream came to it; by default, nothing in flight.
  template <typename Handle>
  class Transfer {
  public:
    Transfer() = default;
    explicit Transfer(Handle handle) : handle_(std::move(handle)) {}

    /// Work that `consumer` is given from here on sees the result. Throws what the handle's wait() throws.
    template <typename Consumer>
    void finish(Consumer&) {
      if (auto handle = std::exchange(handle_, std::nullopt)) {
        handle->wait();
      }
    }
    [[nodiscard]] bool test() { return !handle_ || handle_->test(); }

  private:
    std::optional<Handle> handle_;
  };

  class Stream {
  public:
    struct Event {};

    explicit Stream(StreamOptions options = {}) : workspace_(options.threads) {}

    /// What a stream allocates, once, at construction.
    [[nodiscard]] static constexpr Index workspace_bytes(StreamOptions options) {
      return detail::cpu::Workspace::bytes(options.threads);
    }

    template <typename Operation, typename... Views>
    void run(Operation const& operation, Views... views) {
      constexpr bool known = requires { apply(workspace_, operation, views...); };
      static_assert(known, "Stream::run: this operation does not take these views. See cleave/device/operations.hpp "
                           "for those it takes.");
      if constexpr (known) {
        apply(workspace_, operation, views...);
      }
    }

    void to_host(std::byte* to, std::byte const* from, Index bytes) { copy(to, from, bytes); }
    void from_host(std::byte* to, std::byte const* from, Index bytes) { copy(to, from, bytes); }

    [[nodiscard]] Event record() { return {}; }
    void wait(Event const&) {}
    void synchronize() {}

    /// Starts the collective that f() returns the handle of.
    template <typename F>
    [[nodiscard]] auto start(F f) {
      return Transfer<decltype(f())>(f());
    }

  private:
    static void copy(std::byte* to, std::byte const* from, Index bytes) {
      if (bytes > 0) {
        std::memcpy(to, from, static_cast<std::size_t>(bytes));
      }
    }

    detail::cpu::Workspace workspace_;
  };
};

static_assert(device_policy<Cpu>);

} // namespace cleave::device
