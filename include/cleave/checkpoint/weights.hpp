#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <cleave/checkpoint/safetensors_file.hpp>
#include <cleave/checkpoint/safetensors_writer.hpp>
#include <cleave/core/error.hpp>
#include <cleave/sharded/flat_layout.hpp>

namespace cleave {
namespace detail {

inline std::vector<std::int64_t> dimensions(Extents const& shape) {
  return shape.is_vector() ? std::vector<std::int64_t>{shape.rows}
                           : std::vector<std::int64_t>{shape.rows, shape.columns};
}

inline std::string text_of(std::vector<std::int64_t> const& shape) {
  std::string text;
  for (std::int64_t const extent : shape) {
    text += (text.empty() ? "" : ", ") + std::to_string(extent);
  }
  return "(" + text + ")";
}

/// Throws FileError unless `file` holds each of the model's parameters, in its shape and as numbers, and nothing else.
template <typename Model>
void check_tensors(checkpoint::SafetensorsFile const& file) {
  std::set<std::string, std::less<>> unknown(file.names().begin(), file.names().end());
  Model::for_each_parameter([&](Name const& name, Parameter const& parameter) {
    checkpoint::TensorInfo const& tensor = file.find(name.view());
    if (tensor.shape != dimensions(parameter.shape)) {
      throw FileError("expected shape {} for tensor '{}' in '{}', found {}; use a file of the same model",
                      text_of(dimensions(parameter.shape)), name.view(), file.path(), text_of(tensor.shape));
    }
    file.read(name.view(), 0, std::span<typename Model::Master>()); // throws unless they are numbers
    unknown.erase(std::string(name.view()));
  });
  if (!unknown.empty()) {
    throw FileError(
        "expected only the model's parameters in '{}', found {} more, the first is '{}'; use a file of the same "
        "model",
        file.path(), unknown.size(), *unknown.begin());
  }
}

} // namespace detail

namespace checkpoint {

/// Fills a model with the weights of a safetensors file that holds exactly its parameters (names, shapes), as float64,
/// float32, bfloat16 or float16. Every rank reads only what it keeps; no messages. Throws FileError, before anything is
/// changed.
template <typename Model>
void load_weights(std::string const& path, Model& model) {
  SafetensorsFile const file(path);
  detail::check_tensors<Model>(file);
  std::vector<typename Model::Master> values;
  model.for_each_kept(true, [&](auto& stream, Name const& name, Placement const&, Index first, auto weights) {
    values.resize(static_cast<std::size_t>(weights.size));
    file.read(name.view(), first, std::span(values));
    stream.from_host(reinterpret_cast<std::byte*>(weights.data), reinterpret_cast<std::byte const*>(values.data()),
                     static_cast<Index>(values.size() * sizeof(values[0])));
    stream.synchronize();
  });
}

/// Writes a model's whole weights to one safetensors file that Hugging Face tools read, in the master type. Rank 0
/// writes, unit by unit, so memory is bounded by the largest unit; the file appears whole or not at all. Throws
/// FileError on every rank. A collective.
template <typename Model>
void save_weights(std::string const& path, Model& model, Metadata const& metadata = {{"format", "pt"}}) {
  model.guarded([&] {
    std::optional<SafetensorsWriter> writer;
    if (model.communicator().rank() == 0) {
      std::vector<TensorSpec> tensors;
      Model::for_each_parameter([&](Name const& name, Parameter const& parameter) {
        tensors.push_back(
            {std::string(name.view()), dtype_of<typename Model::Master>, detail::dimensions(parameter.shape)});
      });
      writer.emplace(path, tensors, metadata);
    }
    model.visit_parameters([&](Name const& name, Placement const&, auto values) {
      if (writer) {
        writer->write(name.view(), 0, values);
      }
    });
    if (writer) {
      writer->commit();
    }
    model.communicator().barrier(); // the file is there for everyone
  });
}

} // namespace checkpoint
} // namespace cleave
