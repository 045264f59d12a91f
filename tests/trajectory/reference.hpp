#pragma once

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include <cleave/core/error.hpp>
#include <cleave/core/tensor.hpp>

namespace trajectory {

using cleave::Index;

/// One case of a reference folder (its README says what the fields mean).
struct Case {
  std::string name;
  std::string optimizer;
  double learning_rate = 0;
  double weight_decay = 0;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double momentum = 0;
  bool nesterov = false;
  double clip = std::numeric_limits<double>::infinity();
  bool cosine = false;
  Index warmup = 0;
  double minimum = 0;
  bool ragged = false;
  Index batch = 0;
  std::vector<double> losses; // by step
  std::vector<double> norms;

  [[nodiscard]] Index steps() const { return static_cast<Index>(losses.size()); }
};

/// What PyTorch computed: read from files, nothing about them is known here but the model's shape.
struct Reference {
  std::filesystem::path folder;
  std::vector<Case> cases;
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> valid; // targets that sequence i keeps, in ragged cases
  double first_norm = 0;           // of grad0: the gradient of those cases whose first norm this is
  bool exact = false;              // the stored weights are those that the runs began with, to the last bit

  [[nodiscard]] std::string file(std::string const& name) const { return (folder / name).string(); }
};

/// Whether grad0 is the first gradient of this case: their norms agree.
bool owns_gradient(Reference const& reference, Case const& c);

/// Throws cleave::FileError when a file is missing or of another model.
Reference read_reference(std::filesystem::path const& folder);

} // namespace trajectory
