#pragma once

#include <string>
#include <vector>

#include <cleave/layers/layer.hpp>

namespace cleave::testing {

/// The names of a layer's parameters, in order; tied ones too.
template <typename L>
[[nodiscard]] std::vector<std::string> names_of(Name prefix = {}) {
  std::vector<std::string> names;
  cleave::for_each_parameter<L>(prefix, [&](Parameter const& parameter) { names.emplace_back(parameter.name.view()); });
  return names;
}

} // namespace cleave::testing
