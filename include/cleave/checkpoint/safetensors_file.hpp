#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cleave/checkpoint/dtype.hpp>
#include <cleave/checkpoint/tensor_info.hpp>
#include <cleave/core/error.hpp>
#include <cleave/core/scalar.hpp>
#include <cleave/core/tensor.hpp>
#include <cleave/detail/checkpoint/conversion.hpp>
#include <cleave/detail/checkpoint/safetensors_header.hpp>
#include <cleave/detail/core/mapped_file.hpp>

namespace cleave::checkpoint {

static_assert(std::endian::native == std::endian::little, "cleave::checkpoint: safetensors are read as they lie");

/// A safetensors file, memory-mapped: 8 bytes with the header's length, the header (JSON), the data. Move-only.
///
/// Opening it checks all that the format promises, so that no later read can leave the file.
class SafetensorsFile {
public:
  /// Throws FileError when it cannot be read, or is cut short, damaged or something else.
  template <std::convertible_to<std::string> Path>
  explicit SafetensorsFile(Path const& path) : path_(path), file_(path_, "safetensors file") {
    std::string_view const json = header_text();
    std::span const data = file_.bytes().subspan(sizeof(std::uint64_t) + json.size());
    detail::SafetensorsHeader header = detail::parse_safetensors_header<Path>(path_, json, data.size());
    metadata_ = std::move(header.metadata);
    for (detail::SafetensorsEntry& entry : header.entries) {
      names_.push_back(entry.tensor.name);
      tensors_[std::move(entry.tensor.name)] = {entry.tensor.dtype, std::move(entry.tensor.shape),
                                                data.subspan(entry.begin, entry.end - entry.begin)};
    }
  }

  [[nodiscard]] std::string const& path() const { return path_; }
  [[nodiscard]] Metadata const& metadata() const { return metadata_; }
  /// In the order of their data.
  [[nodiscard]] std::vector<std::string> const& names() const { return names_; }
  [[nodiscard]] bool contains(std::string_view name) const { return tensors_.find(name) != tensors_.end(); }

  /// Throws FileError when there is no such tensor.
  [[nodiscard]] TensorInfo const& find(std::string_view name) const {
    auto const found = tensors_.find(name);
    if (found == tensors_.end()) {
      throw FileError(
          "expected a tensor '{}' in '{}', found {} others{}; use a file of the same model, or the name that "
          "the file gives it",
          name, path_, names_.size(), names_.empty() ? "" : " ('" + names_.front() + "', ...)");
    }
    return found->second;
  }

  /// Fills `out` with elements first, first + 1, ... of a tensor of float64, float32, bfloat16 or float16, rounded to
  /// T. Throws FileError for another name or type, InvalidArgument beyond the tensor's end.
  template <scalar T>
  void read(std::string_view name, Index first, std::span<T> out) const {
    TensorInfo const& tensor = find(name);
    auto const count = static_cast<Index>(out.size());
    if (first < 0 || first > tensor.size() - count) {
      throw InvalidArgument("expected a range within the {} elements of tensor '{}' in '{}', found {} from element {}; "
                            "compare its shape first",
                            tensor.size(), name, path_, count, first);
    }
    if (!detail::load(tensor.dtype, tensor.bytes.data() + first * dtype_bytes(tensor.dtype), out)) {
      throw FileError("expected F64, F32, BF16 or F16 for tensor '{}' in '{}', found {}; convert the file", name, path_,
                      dtype_name(tensor.dtype));
    }
  }

private:
  // What other readers of the format accept; a damaged length would otherwise be taken for a header of gigabytes.
  static constexpr std::uint64_t largest_header = 100'000'000;

  [[nodiscard]] std::string_view header_text() const {
    std::span const bytes = file_.bytes();
    std::uint64_t length = 0;
    if (bytes.size() < sizeof(length)) {
      throw FileError(
          "expected a safetensors file of 8 bytes or more at '{}', found {} bytes; write or download it again", path_,
          bytes.size());
    }
    std::memcpy(&length, bytes.data(), sizeof(length));
    if (length > std::min<std::uint64_t>(bytes.size() - sizeof(length), largest_header)) {
      throw FileError(
          "expected a safetensors file at '{}', found a header of {} bytes in a file of {}; it is cut short or "
          "another format, so write or download it again",
          path_, length, bytes.size());
    }
    return {reinterpret_cast<char const*>(bytes.data()) + sizeof(length), length};
  }

  std::string path_;
  detail::MappedFile file_;
  Metadata metadata_;
  std::vector<std::string> names_;
  std::map<std::string, TensorInfo, std::less<>> tensors_;
};

} // namespace cleave::checkpoint
