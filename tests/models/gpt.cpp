#include <cleave/models/gpt.hpp>

#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <cleave/checkpoint/safetensors_file.hpp>
#include <cleave/comm/self.hpp>
#include <cleave/layers/checkpoint.hpp>
#include <cleave/sharded/sharded_module.hpp>

#include "../support/gradient_error.hpp"
#include "../support/layer_run.hpp"
#include "../support/names.hpp"
#include "../support/reference.hpp"

using namespace cleave;

namespace {

constexpr models::gpt::Config reference{.vocabulary = 256, .context = 64, .layers = 2, .width = 64, .heads = 4};
constexpr models::gpt::Config small{.vocabulary = 11, .context = 8, .layers = 2, .width = 6, .heads = 2};
constexpr models::gpt::Config small_dropout{
    .vocabulary = 11, .context = 8, .layers = 2, .width = 6, .heads = 2, .dropout = true};
constexpr models::gpt::Config untied{
    .vocabulary = 256, .context = 64, .layers = 2, .width = 64, .heads = 4, .tied = false};
constexpr models::gpt::Config untied_dropout{
    .vocabulary = 256, .context = 64, .layers = 2, .width = 64, .heads = 4, .tied = false, .dropout = true};

template <models::gpt::Config C>
using Model = ShardedModule<models::gpt::Gpt<C>>;

template <models::gpt::Config C>
Index elements() {
  Index sum = 0;
  Model<C>::for_each_parameter([&](Name const&, Parameter const& parameter) { sum += parameter.shape.size(); });
  return sum;
}

/// Mean and deviation of a parameter's first values.
struct Statistics {
  double mean = 0;
  double deviation = 0;
};
Statistics statistics(std::span<float const> values) {
  Statistics found;
  for (double const value : values) {
    found.mean += value / static_cast<double>(values.size());
  }
  for (double const value : values) {
    found.deviation += (value - found.mean) * (value - found.mean) / static_cast<double>(values.size());
  }
  found.deviation = std::sqrt(found.deviation);
  return found;
}

} // namespace

TEST_CASE("names and shapes are Hugging Face's") {
  checkpoint::SafetensorsFile const file(testing::reference_file("init.safetensors"));
  std::size_t found = 0;
  Model<reference>::for_each_parameter([&](Name const& name, Parameter const& parameter) {
    CAPTURE(name.view());
    REQUIRE(file.contains(name.view()));
    Extents const shape = parameter.shape;
    std::vector<std::int64_t> const dimensions = shape.is_vector()
                                                     ? std::vector<std::int64_t>{shape.rows}
                                                     : std::vector<std::int64_t>{shape.rows, shape.columns};
    CHECK_EQ(file.find(name.view()).shape, dimensions);
    ++found;
  });
  CHECK_EQ(found, file.names().size());
}

TEST_CASE_TEMPLATE("a block's parameters come in Hugging Face's order, dropout or not", L,
                   models::gpt::Block<reference>, models::gpt::Block<untied_dropout>) {
  CHECK_EQ(testing::names_of<L>("h.3"),
           std::vector<std::string>{"h.3.ln_1.weight", "h.3.ln_1.bias", "h.3.attn.c_attn.weight",
                                    "h.3.attn.c_attn.bias", "h.3.attn.c_proj.weight", "h.3.attn.c_proj.bias",
                                    "h.3.ln_2.weight", "h.3.ln_2.bias", "h.3.mlp.c_fc.weight", "h.3.mlp.c_fc.bias",
                                    "h.3.mlp.c_proj.weight", "h.3.mlp.c_proj.bias"});
}

TEST_CASE("an untied model has one parameter more, lm_head.weight, and dropout changes no name") {
  std::vector<std::string> names;
  std::vector<std::string> untied_names;
  std::vector<std::string> dropout_names;
  Model<reference>::for_each_parameter([&](Name const& name, Parameter const&) { names.emplace_back(name.view()); });
  Model<untied>::for_each_parameter(
      [&](Name const& name, Parameter const&) { untied_names.emplace_back(name.view()); });
  Model<untied_dropout>::for_each_parameter(
      [&](Name const& name, Parameter const&) { dropout_names.emplace_back(name.view()); });
  CHECK_EQ(dropout_names, untied_names);
  CHECK_EQ(std::vector<std::string>(names.begin(), names.begin() + 4),
           std::vector<std::string>{"wte.weight", "wpe.weight", "ln_f.weight", "ln_f.bias"});
  names.insert(names.begin() + 4, "lm_head.weight"); // the last of the root, which is the first unit
  CHECK_EQ(untied_names, names);
}

TEST_CASE("GPT-2 has as many parameters as GPT-2") {
  CHECK_EQ(elements<models::gpt::Config{}>(), 124'439'808);
  CHECK_EQ((elements<models::gpt::Config{.layers = 48, .width = 1600, .heads = 25}>()), 1'557'611'200);
  CHECK_EQ((elements<models::gpt::Config{.tied = false}>()), 124'439'808 + 50257 * 768);
  CHECK_EQ(Model<models::gpt::Config{}>::units, 13);
}

TEST_CASE("first values have GPT-2's deviations, and projections back into the stream smaller ones") {
  comm::Self self;
  Model<untied> model(self, {.batch = 1, .sequence = 64, .seed = 3, .threads = 1});
  model.visit_parameters([](Name const& name, Placement const&, std::span<float const> values) {
    CAPTURE(name.view());
    auto const found = statistics(values);
    auto const text = name.view();
    if (text.ends_with(".bias") || text.find("ln_") != std::string_view::npos) {
      CHECK_EQ(found.mean, text.ends_with(".bias") ? 0 : 1);
      CHECK_EQ(found.deviation, 0);
      return;
    }
    double const expected = text.ends_with("c_proj.weight") ? 0.02 / std::sqrt(2.0 * 2) : 0.02;
    auto const count = static_cast<double>(values.size());
    CHECK_LT(std::abs(found.mean), 5 * expected / std::sqrt(count));
    CHECK_LT(std::abs(found.deviation / expected - 1), 5 / std::sqrt(2 * count));
  });
}

TEST_CASE_TEMPLATE("a block's backward is the derivative of its forward, stored or recomputed", L,
                   models::gpt::Block<small>, models::gpt::Block<small_dropout>,
                   Checkpoint<models::gpt::Block<small_dropout>>) {
  CHECK_LT(testing::gradient_error<L>({.dropout = 0.2}), testing::gradient_tolerance);
}

TEST_CASE_TEMPLATE("a plan counts exactly what a block cuts, stored or recomputed", L, models::gpt::Block<reference>,
                   Checkpoint<models::gpt::Block<reference>>, models::gpt::Block<small_dropout>,
                   Checkpoint<models::gpt::Block<small_dropout>>) {
  for (Shape const shape : {Shape{1, 1}, Shape{3, 5}, Shape{2, 8}}) {
    CHECK_EQ(testing::planned_bytes<float, L>(shape),
             testing::run_layer<float>(testing::random_run<L>(shape)).high_water);
  }
}

TEST_CASE_TEMPLATE("a block in float and bfloat16 is near double", L, models::gpt::Block<reference>,
                   Checkpoint<models::gpt::Block<reference>>) {
  auto run = testing::random_run<L>({2, 8});
  for (double& weight : run.weights) {
    weight *= 0.1;
  }
  auto const errors = testing::compare_types(run);
  CHECK_LT(errors.single, 1e-5);
  CHECK_LT(errors.half, 0.05);
}
