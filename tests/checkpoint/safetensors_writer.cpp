#include <cleave/checkpoint/safetensors_writer.hpp> // first: the header stands alone

#include <cstdint>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cleave/checkpoint/safetensors_file.hpp>
#include <cleave/data/byte_tokenizer.hpp>

#include "../support/error_text.hpp"
#include "../support/temporary_folder.hpp"

namespace {

using namespace cleave;
using namespace cleave::checkpoint;
using testing::contains;
using testing::error_text;
using testing::TemporaryFolder;

static_assert(std::is_move_constructible_v<SafetensorsWriter> && !std::is_copy_constructible_v<SafetensorsWriter>);

std::vector<double> some_numbers(std::size_t count) {
  std::mt19937 random(5);
  std::vector<double> values(count);
  for (double& value : values) {
    value = std::uniform_real_distribution<double>(-1, 1)(random);
  }
  return values;
}

} // namespace

TEST_CASE("The bytes written are the ones that the format describes") {
  TemporaryFolder const folder;
  std::string const path = folder.path("a");
  SafetensorsWriter writer(path, {{"w", Dtype::float32, {1, 2}}, {"t", Dtype::uint8, {3}}}, {{"by", "a \"test\"\n"}});
  std::vector<float> const values{1, -2};
  writer.write<float>("w", 0, values);
  std::string const text = "xyz";
  writer.write_bytes("t", 0, std::as_bytes(std::span(text)));
  writer.commit();

  std::string header =
      R"({"__metadata__":{"by":"a \"test\"\u000a"},"w":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
      R"("t":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::string expected(8, '\0');
  expected[0] = static_cast<char>(header.size());
  expected += header + std::string("\0\0\x80\x3f\0\0\0\xc0", 8) + "xyz";
  CHECK_LT(header.size(), 256U);
  CHECK(data::read_text(path) == expected);
  CHECK_EQ(SafetensorsFile(path).metadata().at("by"), "a \"test\"\n");
}

TEST_CASE("Pieces written in any order, of any number type, read back") {
  std::vector<double> const values = some_numbers(100'000); // more than one chunk
  TemporaryFolder const folder;
  std::vector<TensorSpec> const tensors{{"d", Dtype::float64, {100, 1000}},
                                        {"empty", Dtype::float32, {0, 4}},
                                        {"b", Dtype::bfloat16, {100'000}},
                                        {"one", Dtype::float32, {}}};
  SafetensorsWriter writer(folder.path("a"), tensors);
  for (Index const first : {70'000, 0, 30'000}) {
    Index const count = first == 30'000 ? 40'000 : 30'000;
    auto const part = std::span(values).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    writer.write<double>("b", first, part);
    writer.write<double>("d", first, part);
  }
  writer.write<double>("one", 0, std::span(values).first(1));
  writer.commit();

  SafetensorsFile const file(folder.path("a"));
  std::vector<double> read(values.size());
  file.read<double>("d", 0, read);
  CHECK(read == values);
  std::vector<bfloat16> narrow(values.size());
  file.read<bfloat16>("b", 0, narrow);
  for (std::size_t i = 0; i != values.size(); ++i) {
    REQUIRE_EQ(narrow[i].bits, bfloat16(static_cast<float>(values[i])).bits);
  }
  for (TensorSpec const& tensor : tensors) {
    CHECK(file.find(tensor.name).shape == tensor.shape);
  }
}

TEST_CASE("Without a commit nothing stays behind, and what was there stays") {
  TemporaryFolder const folder;
  std::string const path = folder.write("a", "the old file");
  std::vector<float> const values{1, 2};
  {
    SafetensorsWriter writer(path, {{"w", Dtype::float32, {2}}});
    writer.write<float>("w", 0, values);
    SafetensorsWriter const moved = std::move(writer);
    SafetensorsWriter const beside(path, {{"w", Dtype::float32, {2}}}); // another, at the same time
    CHECK_EQ(folder.file_count(), 3U);
  }
  CHECK_EQ(folder.file_count(), 1U);
  CHECK_EQ(data::read_text(path), "the old file");

  SafetensorsWriter writer(path, {{"w", Dtype::float32, {2}}});
  writer.write<float>("w", 0, values);
  writer.commit();
  CHECK_EQ(folder.file_count(), 1U);
  CHECK(SafetensorsFile(path).contains("w"));
}

TEST_CASE("A commit names the first byte that was never written") {
  TemporaryFolder const folder;
  SafetensorsWriter writer(folder.path("a"), {{"v", Dtype::float32, {4}}, {"w", Dtype::float32, {4}}});
  std::vector<float> const values{1, 2, 3, 4};
  auto const says = [&](char const* text) {
    return contains(error_text<InvalidArgument>([&] { writer.commit(); }), text);
  };
  writer.write<float>("w", 0, values);
  CHECK(says("tensor 'v'"));
  CHECK(says("byte 0 "));
  writer.write<float>("v", 0, std::span(values).first(2));
  CHECK(says("byte 8 "));
  writer.write<float>("v", 1, std::span(values).first(2)); // overlaps
  CHECK(says("byte 12 "));
  writer.write<float>("v", 3, std::span(values).first(1));
  writer.commit();
  CHECK_EQ(folder.file_count(), 1U);
}

TEST_CASE("Names, ranges and types that do not fit are refused") {
  TemporaryFolder const folder;
  SafetensorsWriter writer(folder.path("a"), {{"v", Dtype::float32, {2}}, {"i", Dtype::int32, {2}}});
  std::vector<float> const values{1, 2};
  CHECK_THROWS_AS(writer.write<float>("u", 0, values), InvalidArgument);
  CHECK_THROWS_AS(writer.write<float>("v", 1, values), InvalidArgument);
  CHECK_THROWS_AS(writer.write<float>("v", -1, values), InvalidArgument);
  CHECK_THROWS_AS(writer.write_bytes("i", 1, std::as_bytes(std::span(values))), InvalidArgument);
  CHECK(contains(error_text<InvalidArgument>([&] { writer.write<float>("i", 0, values); }), "found I32"));

  auto const refused = [&](std::vector<TensorSpec> const& tensors) {
    return error_text<InvalidArgument>([&] { SafetensorsWriter(folder.path("b"), tensors); });
  };
  CHECK(contains(refused({{"v", Dtype::float32, {2}}, {"v", Dtype::float32, {2}}}), "'v' twice"));
  CHECK(contains(refused({{"v", Dtype::float32, {-2}}}), "'v'"));
  CHECK(contains(refused({{"v", Dtype::float32, {std::int64_t{1} << 62, 16}}}), "'v'"));
  CHECK_NE(refused({{"__metadata__", Dtype::float32, {2}}}), "");
  CHECK_NE(refused({{"\xff", Dtype::float32, {2}}}), "");
  CHECK_EQ(folder.file_count(), 1U); // the first writer's
}

TEST_CASE("A file that cannot be made is an error that says why, and leaves nothing") {
  TemporaryFolder const folder;
  auto const refused = [&](std::string const& path, std::int64_t size) {
    return error_text<FileError>([&] { SafetensorsWriter(path, {{"v", Dtype::float32, {size}}}); });
  };
  CHECK(contains(refused(folder.path("none/a"), 2), "No such file or directory"));
  CHECK(contains(refused(folder.path(), 2), "a folder"));
  CHECK(contains(refused(folder.path("huge"), std::int64_t{1} << 58), folder.path("huge"))); // no disk has room
  CHECK_EQ(folder.file_count(), 0U);
}
