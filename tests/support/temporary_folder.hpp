#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cleave::testing {

/// A new empty folder; gone with this object.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "cleave-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw std::runtime_error("no temporary folder");
    }
    path_ = name;
  }
  TemporaryFolder(TemporaryFolder const&) = delete;
  TemporaryFolder& operator=(TemporaryFolder const&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::string path(std::string_view name = "") const { return (path_ / name).string(); }

  /// A file of these bytes; its path.
  std::string write(std::string_view name, std::string_view bytes) const {
    std::string const where = path(name);
    std::FILE* const file = std::fopen(where.c_str(), "wb");
    bool const written = file != nullptr && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    if (file == nullptr || std::fclose(file) != 0 || !written) {
      throw std::runtime_error("cannot write " + where);
    }
    return where;
  }

  [[nodiscard]] std::size_t file_count() const {
    std::size_t count = 0;
    for ([[maybe_unused]] auto const& entry : std::filesystem::directory_iterator(path_)) {
      ++count;
    }
    return count;
  }

private:
  std::filesystem::path path_;
};

} // namespace cleave::testing
