#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
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
#include <cleave/detail/checkpoint/safetensors_layout.hpp>
#include <cleave/detail/core/atomic_file.hpp>
#include <cleave/detail/core/covered_ranges.hpp>

namespace cleave::checkpoint {

/// Writes a safetensors file whose tensors are known beforehand, in pieces and in any order, so that nobody has to hold
/// a whole model. Move-only.
///
/// The file appears at its path by `commit`, whole; without it nothing stays behind.
class SafetensorsWriter {
public:
  /// Reserves the whole size on disk. Throws FileError when the file cannot be made, and InvalidArgument when the
  /// format cannot hold these tensors (a name twice, a negative extent).
  template <std::convertible_to<std::string> Path>
  SafetensorsWriter(Path const& path, std::vector<TensorSpec> const& tensors, Metadata const& metadata = {})
      : SafetensorsWriter(std::string(path), detail::lay_out_safetensors<Path>(path, tensors, metadata)) {}

  /// Elements first, first + 1, ... of a tensor of float64, float32 or bfloat16, rounded to its type. Throws FileError
  /// when the disk fails, InvalidArgument for a name, range or type that does not fit.
  template <scalar T>
  void write(std::string_view name, Index first, std::span<T const> values) {
    detail::SafetensorsEntry const& entry = find(name);
    Index const width = dtype_bytes(entry.tensor.dtype);
    std::array<std::byte, 65536> chunk;
    while (!values.empty()) {
      std::span const part = values.first(std::min(values.size(), chunk.size() / static_cast<std::size_t>(width)));
      if (!detail::store(entry.tensor.dtype, part, chunk.data())) {
        throw InvalidArgument(
            "expected a tensor of F64, F32 or BF16 for numbers, found {} for '{}' in '{}'; write its bytes "
            "instead",
            dtype_name(entry.tensor.dtype), name, file_.path());
      }
      write_at(entry, first * width, std::span(chunk).first(part.size() * static_cast<std::size_t>(width)));
      first += static_cast<Index>(part.size());
      values = values.subspan(part.size());
    }
  }

  /// Bytes first_byte, first_byte + 1, ... of a tensor of any type. Throws as `write`.
  void write_bytes(std::string_view name, Index first_byte, std::span<std::byte const> bytes) {
    write_at(find(name), first_byte, bytes);
  }

  /// Throws InvalidArgument when a byte was never written, and FileError when the disk fails. The last call.
  void commit() {
    Index const gap = written_.first_gap();
    for (detail::SafetensorsEntry const& entry : layout_.entries) {
      if (gap < static_cast<Index>(entry.end)) {
        throw InvalidArgument(
            "expected all of tensor '{}' before '{}' is committed, found its byte {} never written; write "
            "every element",
            entry.tensor.name, file_.path(), gap - static_cast<Index>(entry.begin));
      }
    }
    file_.commit();
  }

private:
  SafetensorsWriter(std::string const& path, detail::SafetensorsLayout layout)
      : layout_(std::move(layout)), file_(path, layout_.file_bytes()) {
    file_.write(0, std::as_bytes(std::span(layout_.front)));
  }

  [[nodiscard]] detail::SafetensorsEntry const& find(std::string_view name) const {
    auto const found = std::find_if(layout_.entries.begin(), layout_.entries.end(),
                                    [&](detail::SafetensorsEntry const& entry) { return entry.tensor.name == name; });
    if (found == layout_.entries.end()) {
      throw InvalidArgument("expected one of the {} tensors that '{}' was opened for, found '{}'; name it at the start",
                            layout_.entries.size(), file_.path(), name);
    }
    return *found;
  }

  void write_at(detail::SafetensorsEntry const& entry, Index first_byte, std::span<std::byte const> bytes) {
    auto const begin = static_cast<Index>(entry.begin);
    auto const size = static_cast<Index>(entry.end) - begin;
    auto const count = static_cast<Index>(bytes.size());
    if (first_byte < 0 || first_byte > size - count) {
      throw InvalidArgument(
          "expected a range within the {} bytes of tensor '{}' in '{}', found {} bytes from byte {}; compare "
          "its shape",
          size, entry.tensor.name, file_.path(), count, first_byte);
    }
    file_.write(static_cast<Index>(layout_.front.size()) + begin + first_byte, bytes);
    written_.add(begin + first_byte, begin + first_byte + count);
  }

  detail::SafetensorsLayout layout_;
  detail::AtomicFile file_;
  detail::CoveredRanges written_; // of the data
};

} // namespace cleave::checkpoint
