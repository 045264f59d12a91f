#include "reference.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <span>

#include <nlohmann/json.hpp>

#include <cleave/checkpoint/safetensors_file.hpp>
#include <cleave/data/token_file.hpp>

#include "model.hpp"

namespace trajectory {
namespace {

std::vector<std::int32_t> read_tokens(std::string const& path) {
  cleave::data::TokenFile const file(path);
  cleave::data::TokenView const view = file;
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(view.size()));
  view.copy(0, tokens);
  return tokens;
}

void check_model(nlohmann::json const& model, std::string const& path) {
  auto const is = [&](char const* key, int expected) { return model.at(key).get<int>() == expected; };
  if (!(is("vocab", config.vocabulary) && is("context", config.context) && is("layers", config.layers) &&
        is("heads", config.heads) && is("width", config.width))) {
    throw cleave::FileError(
        "expected the reference model in '{}' to be the one that this program was compiled for, found {}", path,
        model.dump());
  }
}

Case read_case(std::filesystem::path const& path, nlohmann::json const& file) {
  check_model(file.at("model"), path.string());
  nlohmann::json const& json = file.at("case");
  Case c;
  c.name = path.stem().string();
  c.optimizer = json.at("optimizer");
  c.learning_rate = json.at("lr");
  c.weight_decay = json.value("weight_decay", c.weight_decay);
  auto const betas = json.value("betas", std::vector<double>{c.beta1, c.beta2});
  c.beta1 = betas.at(0);
  c.beta2 = betas.at(1);
  c.epsilon = json.value("eps", c.epsilon);
  c.momentum = json.value("momentum", c.momentum);
  c.nesterov = json.value("nesterov", c.nesterov);
  c.clip = json.value("grad_clip", c.clip);
  c.cosine = json.value("schedule", std::string("constant")) == "cosine";
  c.warmup = json.value("warmup_steps", c.warmup);
  c.minimum = json.value("min_lr", c.minimum);
  c.ragged = json.value("ragged", c.ragged);
  c.batch = json.at("batch");
  for (nlohmann::json const& step : file.at("steps")) {
    c.losses.push_back(step.at("loss"));
    c.norms.push_back(step.at("grad_norm"));
  }
  return c;
}

double norm_of(std::string const& path) {
  cleave::checkpoint::SafetensorsFile const file(path);
  double sum = 0;
  for (std::string const& name : file.names()) {
    std::vector<double> values(static_cast<std::size_t>(file.find(name).size()));
    file.read(name, 0, std::span(values));
    for (double const value : values) {
      sum += value * value;
    }
  }
  return std::sqrt(sum);
}

} // namespace

bool owns_gradient(Reference const& reference, Case const& c) {
  return std::abs(reference.first_norm / c.norms.at(0) - 1) < 1e-5;
}

Reference read_reference(std::filesystem::path const& folder) {
  Reference reference;
  reference.folder = folder;
  reference.tokens = read_tokens(reference.file("tokens.u16"));
  reference.valid = read_tokens(reference.file("valid.u16"));
  reference.first_norm = norm_of(reference.file("grad0.safetensors"));
  reference.exact =
      cleave::checkpoint::SafetensorsFile(reference.file("init.safetensors")).metadata().contains("exact");
  for (auto const& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") {
      std::ifstream stream(entry.path());
      nlohmann::json const json = nlohmann::json::parse(stream);
      if (json.is_object() && json.contains("case")) {
        reference.cases.push_back(read_case(entry.path(), json));
      }
    }
  }
  if (reference.cases.empty()) {
    throw cleave::FileError(
        "expected cases (CASE.json) in '{}', found none; pass a folder that make_reference.py wrote", folder.string());
  }
  std::ranges::sort(reference.cases, {}, &Case::name);
  if (std::ranges::none_of(reference.cases, [&](Case const& c) { return owns_gradient(reference, c); })) {
    throw cleave::FileError(
        "expected grad0.safetensors in '{}' to be the first gradient of a case, found a norm of {} that is "
        "no case's",
        folder.string(), reference.first_norm);
  }
  return reference;
}

} // namespace trajectory
