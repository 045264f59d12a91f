#include <cleave/checkpoint/weights.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <cleave/layers/mean_squared_error.hpp>
#include <doctest/doctest.h>

#include "support/error_text.hpp"
#include "support/temporary_folder.hpp"
#include "support/training.hpp"

using namespace cleave;
using namespace cleave::checkpoint;
using namespace cleave::testing;

namespace {

template <typename... Args>
using Gpt = ShardedModule<TinyGpt, comm::Threads, Args...>;
constexpr ModelOptions one_sequence{.batch = 1, .sequence = 8, .seed = 5, .threads = 1};

/// Writes what `ranks` ranks hold after a step, and returns it.
template <typename Model>
Values save_trained(int ranks, std::string const& path) {
  Values saved;
  comm::Threads::run(ranks, [&](comm::Threads& world) {
    Model model(world, one_sequence);
    accumulate(model, tiny_text, {.batch = 1}, 0);
    optim::AdamW(model, {.learning_rate = 0.1}).step();
    Values const mine = weights_of(model);
    save_weights(path, model);
    if (world.rank() == 0) {
      saved = mine;
    }
  });
  return saved;
}

/// What `ranks` ranks hold after loading, and whether the next forward computes with it.
template <typename Model>
Values load_into(int ranks, std::string const& path) {
  Values loaded;
  comm::Threads::run(ranks, [&](comm::Threads& world) {
    Model model(world, {.batch = 1, .sequence = 8, .seed = 6, .threads = 1});
    auto const rows = rows_of<Model>(tiny_text, 0, 1);
    double const before = model.evaluate(rows.input, rows.targets).sum;
    load_weights(path, model);
    CHECK(model.evaluate(rows.input, rows.targets).sum != before);
    Values const mine = weights_of(model);
    if (world.rank() == 0) {
      loaded = mine;
    }
  });
  return loaded;
}

/// Two layers, under names of their own, and the file that they would save.
using Pair =
    ShardedModule<Linear<3, 2>, Tanh, Linear<2, 2, LinearOptions{.bias = false}>, MeanSquaredError<2>, comm::Threads>;
std::vector<TensorSpec> pair_tensors() {
  return {{"0.weight", Dtype::float32, {2, 3}}, {"0.bias", Dtype::float32, {2}}, {"2.weight", Dtype::float32, {2, 2}}};
}
std::string write_zeros(TemporaryFolder const& folder, std::vector<TensorSpec> const& tensors) {
  std::string path = folder.path("pair.safetensors");
  SafetensorsWriter writer(path, tensors);
  for (TensorSpec const& tensor : tensors) {
    std::int64_t bytes = dtype_bytes(tensor.dtype);
    for (std::int64_t const extent : tensor.shape) {
      bytes *= extent;
    }
    writer.write_bytes(tensor.name, 0, std::vector<std::byte>(static_cast<std::size_t>(bytes)));
  }
  writer.commit();
  return path;
}

/// What each of three ranks is told when it loads the file; empty where a rank was told nothing or its weights changed.
std::vector<std::string> refusals(std::string const& path) {
  std::vector<std::string> told(3);
  comm::Threads::run(3, [&](comm::Threads& world) {
    Pair model(world, {.seed = 5, .threads = 1});
    Values const before = weights_of(model);
    std::string text = error_text<FileError>([&] { load_weights(path, model); });
    told[static_cast<std::size_t>(world.rank())] = weights_of(model) == before ? text : "";
  });
  return told;
}

bool all_name(std::vector<std::string> const& told, std::vector<std::string> const& parts) {
  bool all = true;
  for (std::string const& text : told) {
    all = all && !text.empty();
    for (std::string const& part : parts) {
      all = all && contains(text, part);
    }
  }
  return all;
}

} // namespace

TEST_CASE("weights that two ranks saved load on any ranks with any strategy, to the bit") {
  TemporaryFolder const folder;
  std::string const path = folder.path("model.safetensors");
  Values const saved = save_trained<Gpt<>>(2, path);
  CHECK_EQ(folder.file_count(), 1);
  for (int const ranks : {1, 3, 8}) {
    CAPTURE(ranks);
    CHECK(load_into<Gpt<>>(ranks, path) == saved);
    CHECK(load_into<Gpt<sharding::OptimizerOnly>>(ranks, path) == saved);
    CHECK(load_into<Gpt<sharding::None, precision::Mixed<bfloat16>>>(ranks, path) == saved);
    CHECK(load_into<Gpt<sharding::GradientsAndOptimizer, precision::Full<double>>>(ranks, path) == saved);
  }
}

TEST_CASE("any strategy saves the same file") {
  TemporaryFolder const folder;
  CHECK(save_trained<Gpt<>>(3, folder.path("full")) == save_trained<Gpt<sharding::None>>(3, folder.path("none")));
  CHECK(load_into<Gpt<>>(2, folder.path("full")) == load_into<Gpt<>>(2, folder.path("none")));
  Values const exact = save_trained<Gpt<precision::Full<double>>>(1, folder.path("double"));
  CHECK(load_into<Gpt<precision::Full<double>>>(3, folder.path("double")) == exact);
}

TEST_CASE("the file holds the model's names and shapes, in its type, once where parameters are tied") {
  TemporaryFolder const folder;
  Values const saved = save_trained<Gpt<>>(2, folder.path("model"));
  SafetensorsFile const file(folder.path("model"));
  CHECK_EQ(file.names().size(), saved.size());
  CHECK(file.metadata() == Metadata{{"format", "pt"}});
  CHECK(file.find("wte.weight").shape == std::vector<std::int64_t>{17, 8});
  CHECK(file.find("h.1.mlp.c_fc.weight").shape == std::vector<std::int64_t>{8, 32});
  CHECK(file.find("h.0.attn.c_attn.bias").shape == std::vector<std::int64_t>{24});
  CHECK(file.find("ln_f.bias").dtype == Dtype::float32);
  CHECK_FALSE(file.contains("lm_head.weight"));
}

TEST_CASE("a file of the model loads; zeros are zeros") {
  TemporaryFolder const folder;
  auto tensors = pair_tensors();
  std::swap(tensors[0], tensors[2]); // order is free
  tensors[1].dtype = Dtype::bfloat16;
  std::string const path = write_zeros(folder, tensors);
  comm::Threads::run(2, [&](comm::Threads& world) {
    Pair model(world, {.seed = 5, .threads = 1});
    load_weights(path, model);
    for (auto const& [name, values] : weights_of(model)) {
      CHECK(values == std::vector<double>(values.size()));
    }
  });
}

TEST_CASE("a file of something else is refused on every rank, with its path and tensor, and changes nothing") {
  TemporaryFolder const folder;
  auto const changed = [&](std::function<void(std::vector<TensorSpec>&)> const& change) {
    auto tensors = pair_tensors();
    change(tensors);
    return refusals(write_zeros(folder, tensors));
  };
  std::string const path = folder.path("pair.safetensors");
  CHECK(all_name(changed([](auto& t) {
                   t[2].shape = {4, 1};
                 }),
                 {path, "2.weight", "expected shape (2, 2)", "found (4, 1)"}));
  CHECK(all_name(changed([](auto& t) {
                   t[1].shape = {2, 1};
                 }),
                 {path, "0.bias", "expected shape (2)", "found (2, 1)"}));
  CHECK(all_name(changed([](auto& t) { t[2].shape = {3, 2}; }), {path, "2.weight", "found (3, 2)"}));
  CHECK(all_name(changed([](auto& t) { t.pop_back(); }), {path, "expected a tensor '2.weight'", "same model"}));
  CHECK(all_name(changed([](auto& t) { t.push_back({"2.bias", Dtype::float32, {2}}); }), {path, "1 more", "'2.bias'"}));
  CHECK(all_name(changed([](auto& t) { t[2].name = "2.wight"; }), {path, "2.weight"}));
  CHECK(all_name(changed([](auto& t) { t[2].dtype = Dtype::int32; }),
                 {path, "2.weight", "expected F64, F32", "found I32"}));
  CHECK(all_name(refusals(folder.path("nothing")), {folder.path("nothing")}));
}

TEST_CASE("a file that is cut short is refused wherever it is cut, and changes nothing") {
  TemporaryFolder const folder;
  std::string const path = write_zeros(folder, pair_tensors());
  for (auto size = std::filesystem::file_size(path); size-- > 0;) {
    std::filesystem::resize_file(path, size);
    CAPTURE(size);
    bool const tries_a_model = size % 16 == 0;
    CHECK(contains(error_text<FileError>([&] { SafetensorsFile{path}; }), path));
    CHECK((!tries_a_model || all_name(refusals(path), {path})));
  }
}

TEST_CASE("a save that fails throws on every rank, and leaves no file") {
  TemporaryFolder const folder;
  std::filesystem::create_directory(folder.path("taken"));
  auto const fails = [&](std::string const& path) {
    std::vector<std::string> told(3);
    comm::Threads::run(3, [&](comm::Threads& world) {
      Gpt<> model(world, one_sequence);
      told[static_cast<std::size_t>(world.rank())] = error_text<Error>([&] { save_weights(path, model); });
    });
    return all_name(told, {path});
  };
  CHECK(fails(folder.path("missing/model.safetensors")));
  CHECK(fails(folder.path("taken")));
  CHECK_EQ(folder.file_count(), 1);
  CHECK(std::filesystem::is_empty(folder.path("taken")));
}

TEST_CASE("a save that fails without sharding, where no weights travel, throws on every rank too") {
  TemporaryFolder const folder;
  std::vector<std::string> told(3);
  comm::Threads::run(3, [&](comm::Threads& world) {
    Gpt<sharding::None> model(world, one_sequence);
    told[static_cast<std::size_t>(world.rank())] =
        error_text<Error>([&] { save_weights(folder.path("missing/model"), model); });
  });
  CHECK(all_name(told, {"missing/model"}));
}
