#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <cleave/checkpoint/dtype.hpp>
#include <cleave/core/tensor.hpp>

namespace cleave::checkpoint {

/// Free text that a file carries, by name.
using Metadata = std::map<std::string, std::string, std::less<>>;

/// A tensor to be written.
struct TensorSpec {
  std::string name;
  Dtype dtype = Dtype::float32;
  std::vector<std::int64_t> shape; ///< empty: one number
};

/// A tensor that a file holds, row-major.
struct TensorInfo {
  Dtype dtype = Dtype::float32;
  std::vector<std::int64_t> shape;
  std::span<std::byte const> bytes; ///< in the mapped file, at any address; valid as long as it is open

  [[nodiscard]] Index size() const { return static_cast<Index>(bytes.size()) / dtype_bytes(dtype); }
};

} // namespace cleave::checkpoint
