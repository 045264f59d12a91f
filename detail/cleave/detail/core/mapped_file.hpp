#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cleave/core/error.hpp>
#include <cleave/detail/core/file_descriptor.hpp>
#include <cleave/detail/core/system_error.hpp>

namespace cleave::detail {

/// A file's bytes, mapped for reading: ranks of one machine share the pages. Move-only; the bytes stay where they are.
class MappedFile {
public:
  /// `what` is the kind of file in messages ("token file"). Throws FileError when it cannot be read.
  MappedFile(std::string const& path, std::string_view what) {
    FileDescriptor const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)); // a pipe is not waited for
    struct stat status {};
    if (!file.is_open() || ::fstat(file.number(), &status) != 0) {
      throw unreadable(path, what, last_system_error());
    }
    if (!S_ISREG(status.st_mode)) {
      throw unreadable(path, what, S_ISDIR(status.st_mode) ? "a folder" : "something that is not a regular file");
    }
    size_ = static_cast<std::size_t>(status.st_size);
    if (size_ != 0) { // an empty range cannot be mapped
      map(file, path, what);
    }
  }
  MappedFile(MappedFile&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~MappedFile() {
    if (first_ != nullptr) {
      ::munmap(first_, size_);
    }
  }

  [[nodiscard]] std::span<std::byte const> bytes() const { return {static_cast<std::byte const*>(first_), size_}; }

private:
  static FileError unreadable(std::string_view path, std::string_view what, std::string_view found) {
    return FileError("expected a readable {} at '{}', found: {}; check the path and its permissions", what, path,
                     found);
  }

  void map(FileDescriptor const& file, std::string_view path, std::string_view what) {
    void* const first = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.number(), 0);
    if (first == MAP_FAILED) {
      throw unreadable(path, what, last_system_error());
    }
    first_ = first;
  }

  void* first_ = nullptr;
  std::size_t size_ = 0;
};

} // namespace cleave::detail
