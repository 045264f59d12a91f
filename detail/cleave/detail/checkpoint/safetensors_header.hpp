#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <cleave/checkpoint/dtype.hpp>
#include <cleave/checkpoint/tensor_info.hpp>
#include <cleave/core/error.hpp>

namespace cleave::detail {

/// Where a tensor's bytes lie, counted from the end of the header.
struct SafetensorsEntry {
  checkpoint::TensorSpec tensor;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries; // in the order of their data
  checkpoint::Metadata metadata;
};

/// Reads and checks the JSON of a safetensors file. Messages name `path`, and the tensor.
template <typename Json>
class SafetensorsHeaderParser {
public:
  SafetensorsHeaderParser(std::string_view path, std::string_view json, std::uint64_t data_bytes)
      : path_(path), json_(json), data_bytes_(data_bytes) {}

  /// Throws FileError when anything is not as the format says.
  [[nodiscard]] SafetensorsHeader parse() const {
    Json const root = parse_json();
    if (!root.is_object()) {
      throw error("the header", "a JSON object", root.type_name());
    }
    SafetensorsHeader header;
    for (auto const& [name, value] : root.items()) {
      if (name == "__metadata__") {
        header.metadata = metadata(value);
      } else {
        header.entries.push_back(entry(name, value));
      }
    }
    std::sort(header.entries.begin(), header.entries.end(), [](auto const& a, auto const& b) {
      return std::tie(a.begin, a.end, a.tensor.name) < std::tie(b.begin, b.end, b.tensor.name); // empty tensors first
    });
    require_tiling(header.entries);
    return header;
  }

private:
  static constexpr std::size_t deepest = 3;

  [[nodiscard]] FileError error(std::string_view where, std::string_view expected, std::string_view found) const {
    return FileError("expected {} for {} in the safetensors file '{}', found {}; the file is damaged or not a "
                     "safetensors file, so write or download it again",
                     expected, where, path_, found);
  }
  /// The start of a value, for messages.
  [[nodiscard]] static std::string shown(Json const& value) {
    std::string const text = value.dump(-1, ' ', true);
    return text.size() <= 60 ? text : text.substr(0, 60) + "...";
  }
  [[nodiscard]] static std::string quoted(std::string_view name) { return fmt::format("tensor '{}'", name); }

  [[nodiscard]] Json parse_json() const {
    // A JSON library keeps one of two equal names in silence, so they are looked for while it parses.
    std::vector<std::set<std::string>> names;
    auto const watch = [&](int depth, typename Json::parse_event_t event, Json& value) {
      auto const level = static_cast<std::size_t>(depth);
      if (level > deepest) { // before recursion over the parsed value can exhaust the stack
        throw error("the header", "an object of objects of arrays", "deeper nesting");
      }
      if (event == Json::parse_event_t::object_start) {
        names.resize(level + 1);
        names[level].clear();
      } else if (event == Json::parse_event_t::key) {
        std::string const& name = value.template get_ref<std::string const&>();
        if (!names[level - 1].insert(name).second) {
          throw error("the header", "different names", fmt::format("'{}' twice", name));
        }
      }
      return true;
    };
    try {
      return Json::parse(json_.begin(), json_.end(), watch);
    } catch (typename Json::parse_error const& failure) {
      throw error("the header", "JSON", fmt::format("something else at byte {} of {}", failure.byte, json_.size()));
    } catch (typename Json::exception const&) {
      throw error("the header", "JSON with numbers of 64 bits", "a number that is too large");
    }
  }

  [[nodiscard]] checkpoint::Metadata metadata(Json const& value) const {
    if (!value.is_object()) {
      throw error("__metadata__", "a JSON object", value.type_name());
    }
    checkpoint::Metadata all;
    for (auto const& [name, text] : value.items()) {
      if (!text.is_string()) {
        throw error("__metadata__", fmt::format("a string '{}'", name), text.type_name());
      }
      all[name] = text.template get_ref<std::string const&>();
    }
    return all;
  }

  [[nodiscard]] SafetensorsEntry entry(std::string const& name, Json const& value) const {
    if (!value.is_object()) {
      throw error(quoted(name), "a JSON object", value.type_name());
    }
    SafetensorsEntry result;
    result.tensor = {name, dtype(name, field(name, value, "dtype")), {}};
    for (std::uint64_t const extent : numbers(name, field(name, value, "shape"), "shape")) {
      result.tensor.shape.push_back(static_cast<std::int64_t>(extent));
    }
    std::vector<std::uint64_t> const offsets = numbers(name, field(name, value, "data_offsets"), "data_offsets");
    if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data_bytes_) {
      throw error(quoted(name),
                  fmt::format("data_offsets [begin, end] in order and within its {} bytes of data", data_bytes_),
                  shown(field(name, value, "data_offsets")));
    }
    result.begin = offsets[0];
    result.end = offsets[1];
    require_size(result);
    return result;
  }

  [[nodiscard]] Json const& field(std::string const& name, Json const& value,
                                            char const* key) const {
    auto const found = value.find(key);
    if (found == value.end()) {
      throw error(quoted(name), fmt::format("a field '{}'", key), "none");
    }
    return *found;
  }

  [[nodiscard]] checkpoint::Dtype dtype(std::string const& name, Json const& value) const {
    auto const found = value.is_string() ? checkpoint::find_dtype(value.template get_ref<std::string const&>())
                                         : std::optional<checkpoint::Dtype>();
    if (!found) {
      throw error(quoted(name), "a dtype of the format (F32, BF16, ...)", shown(value));
    }
    return *found;
  }

  /// An array of numbers from 0 to 2^63 - 1.
  [[nodiscard]] std::vector<std::uint64_t> numbers(std::string const& name, Json const& value,
                                                   char const* key) const {
    std::vector<std::uint64_t> result;
    auto const add = [&](Json const& number) {
      result.push_back(number.is_number_unsigned() ? number.template get<std::uint64_t>()
                                                   : std::numeric_limits<std::uint64_t>::max());
      return result.back() <= std::numeric_limits<std::int64_t>::max();
    };
    if (!value.is_array() || !std::all_of(value.begin(), value.end(), add)) {
      throw error(quoted(name), fmt::format("an array of whole numbers as its {}", key), shown(value));
    }
    return result;
  }

  void require_size(SafetensorsEntry const& entry) const {
    auto bytes = static_cast<std::uint64_t>(checkpoint::dtype_bytes(entry.tensor.dtype));
    bool overflow = false;
    for (std::int64_t const extent : entry.tensor.shape) {
      overflow |= __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes);
    }
    if (overflow || bytes != entry.end - entry.begin) {
      throw error(quoted(entry.tensor.name),
                  overflow ? "a shape of fewer than 2^64 bytes"
                           : fmt::format("{} bytes, as its shape and dtype say", bytes),
                  fmt::format("{} bytes", entry.end - entry.begin));
    }
  }

  /// Tensors follow each other without gap or overlap, and fill the data: no byte of the file is unaccounted for.
  void require_tiling(std::vector<SafetensorsEntry> const& entries) const {
    std::uint64_t end = 0;
    for (SafetensorsEntry const& entry : entries) {
      if (entry.begin != end) {
        throw error(quoted(entry.tensor.name), fmt::format("data from byte {}, where the one before ends", end),
                    fmt::format("data from byte {}", entry.begin));
      }
      end = entry.end;
    }
    if (end != data_bytes_) {
      throw error("its data", fmt::format("{} bytes, as its header says", end), fmt::format("{} bytes", data_bytes_));
    }
  }

  std::string_view path_;
  std::string_view json_;
  std::uint64_t data_bytes_;
};

/// The JSON library, found out late: a program that opens no file does not pay for compiling a parser.
template <typename Caller>
struct json_for {
  using type = nlohmann::json;
};

template <typename Caller>
[[nodiscard]] SafetensorsHeader parse_safetensors_header(std::string_view path, std::string_view json,
                                                         std::uint64_t data_bytes) {
  return SafetensorsHeaderParser<typename json_for<Caller>::type>(path, json, data_bytes).parse();
}

} // namespace cleave::detail
