#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <cleave/checkpoint/dtype.hpp>
#include <cleave/checkpoint/tensor_info.hpp>
#include <cleave/core/arena.hpp>
#include <cleave/core/error.hpp>
#include <cleave/core/tensor.hpp>
#include <cleave/detail/checkpoint/safetensors_header.hpp>
#include <cleave/detail/core/json_text.hpp>

namespace cleave::detail {

/// A safetensors file before its data.
struct SafetensorsLayout {
  std::string front; // the header's length and the header
  std::vector<SafetensorsEntry> entries;

  [[nodiscard]] Index file_bytes() const {
    return static_cast<Index>(front.size() + (entries.empty() ? 0 : entries.back().end));
  }
};

[[nodiscard]] inline std::string metadata_json(checkpoint::Metadata const& metadata) {
  std::string json;
  for (auto const& [name, text] : metadata) {
    json += fmt::format("{}{}:{}", json.empty() ? "" : ",", json_string(name), json_string(text));
  }
  return fmt::format("{{{}}}", json);
}

/// One tensor's entry in the header; moves `offset` behind its data. A size beyond 64 bits wraps, which the parser
/// sees.
[[nodiscard]] inline std::string entry_json(checkpoint::TensorSpec const& tensor, std::uint64_t& offset) {
  std::string shape;
  auto bytes = static_cast<std::uint64_t>(checkpoint::dtype_bytes(tensor.dtype));
  for (std::int64_t const extent : tensor.shape) {
    shape += fmt::format("{}{}", shape.empty() ? "" : ",", extent);
    bytes *= static_cast<std::uint64_t>(extent);
  }
  std::uint64_t const begin = std::exchange(offset, offset + bytes);
  return fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", json_string(tensor.name),
                     checkpoint::dtype_name(tensor.dtype), shape, begin, offset);
}

/// Places each tensor after the one before. Throws InvalidArgument when the format cannot hold them, which its own
/// reader is asked.
template <typename Caller>
[[nodiscard]] SafetensorsLayout lay_out_safetensors(std::string_view path,
                                                    std::vector<checkpoint::TensorSpec> const& tensors,
                                                    checkpoint::Metadata const& metadata) {
  std::string json;
  std::uint64_t data_bytes = 0;
  for (checkpoint::TensorSpec const& tensor : tensors) {
    json += fmt::format("{}{}", json.empty() ? "" : ",", entry_json(tensor, data_bytes));
  }
  if (!metadata.empty()) {
    json = fmt::format(R"("__metadata__":{}{}{})", metadata_json(metadata), json.empty() ? "" : ",", json);
  }
  json = fmt::format("{{{}}}", json);
  json.resize(static_cast<std::size_t>(round_up(static_cast<Index>(json.size()), 8)), ' '); // aligns the data

  SafetensorsLayout layout;
  std::uint64_t const length = json.size();
  layout.front.resize(sizeof(length));
  std::memcpy(layout.front.data(), &length, sizeof(length));
  layout.front += json;
  try {
    layout.entries = parse_safetensors_header<Caller>(path, json, data_bytes).entries;
  } catch (FileError const& error) {
    throw InvalidArgument(
        "expected tensors that a safetensors file can hold (each name once and UTF-8, no negative extent), "
        "found others for '{}'; correct them: {}",
        path, error.what());
  }
  return layout;
}

} // namespace cleave::detail
