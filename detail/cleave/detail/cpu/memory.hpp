#pragma once

#include <cstddef>
#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <cleave/core/arena.hpp>
#include <cleave/core/tensor.hpp>

namespace cleave::detail::cpu {

/// Host memory, aligned to `alignment_bytes`; large regions to huge pages, which saves address translation in
/// the matrix product. Not initialised.
class Memory {
public:
  Memory() = default;
  explicit Memory(Index bytes) : data_(allocate(bytes)), size_(bytes) {}
  Memory(Memory&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Memory& operator=(Memory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  Memory(Memory const&) = delete;
  Memory& operator=(Memory const&) = delete;
  ~Memory() {
    if (data_ != nullptr) {
      ::operator delete (data_, std::align_val_t{alignment(size_)});
    }
  }

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] Index size() const { return size_; }

private:
  static constexpr Index huge_page = Index{2} << 20;

  static constexpr std::size_t alignment(Index bytes) {
    return static_cast<std::size_t>(bytes < huge_page ? alignment_bytes : huge_page);
  }

  static std::byte* allocate(Index bytes) {
    if (bytes <= 0) {
      return nullptr;
    }
    auto const size = static_cast<std::size_t>(bytes);
    void* const data = ::operator new (size, std::align_val_t{alignment(bytes)});
#if defined(__linux__)
    if (bytes >= huge_page) {
      madvise(data, size, MADV_HUGEPAGE); // only advice: a kernel without huge pages refuses, and that is fine
    }
#endif
    return static_cast<std::byte*>(data);
  }

  std::byte* data_ = nullptr;
  Index size_ = 0;
};

} // namespace cleave::detail::cpu
