#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/core.h>

#include <cleave/core/error.hpp>
#include <cleave/core/tensor.hpp>
#include <cleave/detail/core/file_descriptor.hpp>
#include <cleave/detail/core/system_error.hpp>

namespace cleave::detail {

/// A file that appears at its path complete, by `commit`, or not at all. Until then it lies beside it under another
/// name, and whatever was at the path stays. Move-only.
class AtomicFile {
public:
  /// Reserves `size` bytes, so that a full disk shows now. Throws FileError.
  AtomicFile(std::string path, Index size) : path_(std::move(path)) {
    struct stat status {};
    if (::stat(path_.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
      throw FileError("expected to write a file '{}', found {} of that name; choose another name", path_,
                      S_ISDIR(status.st_mode) ? "a folder" : "something that is not a regular file");
    }
    open_temporary();
    try {
      reserve(size);
    } catch (...) {
      remove_temporary();
      throw;
    }
  }
  AtomicFile(AtomicFile&& other) noexcept
      : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})), file_(std::move(other.file_)) {}
  AtomicFile& operator=(AtomicFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(temporary_, other.temporary_);
    std::swap(file_, other.file_);
    return *this;
  }
  ~AtomicFile() { remove_temporary(); }

  [[nodiscard]] std::string const& path() const { return path_; }

  /// Writes at `offset`, in any order. Throws FileError.
  void write(Index offset, std::span<std::byte const> bytes) {
    while (!bytes.empty()) {
      ssize_t const written = ::pwrite(file_.number(), bytes.data(), bytes.size(), offset);
      if (written < 0 && errno == EINTR) {
        continue;
      }
      if (written <= 0) {
        throw unwritable();
      }
      bytes = bytes.subspan(static_cast<std::size_t>(written));
      offset += written;
    }
  }

  /// Makes it last through a power cut, and gives it its name. Throws FileError.
  void commit() {
    if (::fsync(file_.number()) != 0 || std::rename(temporary_.c_str(), path_.c_str()) != 0) {
      throw unwritable();
    }
    temporary_.clear();
    std::string const folder = folder_of(path_);
    FileDescriptor const opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    // Some file systems cannot sync a folder (EINVAL), which leaves nothing else to do.
    if (!opened.is_open() || (::fsync(opened.number()) != 0 && errno != EINVAL)) {
      throw unwritable();
    }
  }

private:
  static std::string folder_of(std::string const& path) {
    std::size_t const slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash + 1);
  }

  [[nodiscard]] FileError unwritable() const {
    return FileError("expected to write '{}', found: {}; check that its folder exists, may be written to and has room",
                     path_, last_system_error());
  }

  void open_temporary() {
    constexpr int create_new = O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC;
    for (int attempt = 0; !file_.is_open(); ++attempt) {
      temporary_ = fmt::format("{}.{}-{}.tmp", path_, ::getpid(), attempt);
      file_ = FileDescriptor(::open(temporary_.c_str(), create_new, 0666));
      if (!file_.is_open() && errno != EEXIST) {
        temporary_.clear(); // there is nothing to remove
        throw unwritable();
      }
    }
  }

  void reserve(Index size) {
    int const failure = ::posix_fallocate(file_.number(), 0, size);
    if (failure != 0) {
      errno = failure;
      throw unwritable();
    }
  }

  void remove_temporary() noexcept {
    if (!temporary_.empty()) {
      ::unlink(temporary_.c_str());
    }
  }

  std::string path_;
  std::string temporary_; // empty: committed, or moved from
  FileDescriptor file_;
};

} // namespace cleave::detail
