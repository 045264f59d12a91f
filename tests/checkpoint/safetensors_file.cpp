#include <cleave/checkpoint/safetensors_file.hpp> // first: the header stands alone

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include "../support/error_text.hpp"
#include "../support/reference.hpp"
#include "../support/temporary_folder.hpp"

namespace {

using namespace cleave;
using namespace cleave::checkpoint;
using testing::contains;
using testing::error_text;
using testing::TemporaryFolder;

static_assert(std::is_move_constructible_v<SafetensorsFile> && !std::is_copy_constructible_v<SafetensorsFile>);

std::string length_of(std::uint64_t length) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes;
}

/// The bytes of a file with this header, as the format's description says.
std::string image(std::string const& json, std::string const& data) { return length_of(json.size()) + json + data; }

template <typename T>
std::string bytes_of(std::vector<T> const& values) {
  return {reinterpret_cast<char const*>(values.data()), values.size() * sizeof(T)};
}

/// What opening a file of these bytes complains about.
std::string complaint(std::string const& bytes) {
  TemporaryFolder const folder;
  std::string const path = folder.write("a.safetensors", bytes);
  std::string const text = error_text<FileError>([&] { SafetensorsFile{path}; });
  CHECK((text.empty() || contains(text, path)));
  return text;
}

/// Opens a file and reads all of it, every tensor as far as it has numbers.
void read_all(std::string const& path) {
  SafetensorsFile const file(path);
  for (std::string const& name : file.names()) {
    TensorInfo const& tensor = file.find(name);
    unsigned sum = 0;
    for (std::byte const byte : tensor.bytes) {
      sum += std::to_integer<unsigned>(byte);
    }
    CHECK_LE(sum, 255 * tensor.bytes.size());
    std::vector<float> values(static_cast<std::size_t>(tensor.size()));
    static_cast<void>(error_text<FileError>([&] { file.read<float>(name, 0, values); }));
  }
}

std::string small_file() {
  return image(
      R"({"__metadata__":{"format":"pt"},"a.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
      R"("b":{"dtype":"BF16","shape":[4],"data_offsets":[24,32]},)"
      R"("none":{"dtype":"I8","shape":[0],"data_offsets":[24,24]}})",
      bytes_of<float>({1, 2, 3, 4, 5, 6}) + bytes_of<std::uint16_t>({0x3f80, 0xbf80, 0x7f80, 0x0001}));
}

} // namespace

TEST_CASE("A file made by hand is read as the format says") {
  TemporaryFolder const folder;
  SafetensorsFile const file(folder.write("a.safetensors", small_file()));
  CHECK(file.names() == std::vector<std::string>{"a.weight", "none", "b"});
  CHECK_EQ(file.metadata().at("format"), "pt");
  CHECK(file.contains("b"));
  CHECK_FALSE(file.contains("__metadata__"));
  TensorInfo const& tensor = file.find("a.weight");
  CHECK(tensor.dtype == Dtype::float32);
  CHECK(tensor.shape == std::vector<std::int64_t>{2, 3});
  CHECK_EQ(tensor.size(), 6);
  CHECK_EQ(file.find("none").size(), 0);

  double middle[2] = {};
  file.read<double>("a.weight", 3, middle);
  CHECK_EQ(middle[0], 4);
  CHECK_EQ(middle[1], 5);
  float last[3] = {};
  file.read<float>("b", 1, last);
  CHECK_EQ(last[0], -1);
  CHECK_EQ(last[1], std::numeric_limits<float>::infinity());
  CHECK_EQ(last[2], std::ldexp(1.0F, -133));
}

TEST_CASE("Every type of number is read as every other, rounded once") {
  std::vector<double> const values{0.1, -3, 65504, 0x1p-24, 1e-300};
  std::string const json =
      R"({"d":{"dtype":"F64","shape":[5],"data_offsets":[0,40]},)"
      R"("h":{"dtype":"F16","shape":[6],"data_offsets":[40,52]}})";
  std::vector<std::uint16_t> const halves{0x2e66, 0xc200, 0x7bff, 0x0001, 0xfc00, 0x7e00};
  TemporaryFolder const folder;
  SafetensorsFile const file(folder.write("a", image(json, bytes_of(values) + bytes_of(halves))));

  std::vector<float> floats(5);
  file.read<float>("d", 0, floats);
  std::vector<bfloat16> narrow(5);
  file.read<bfloat16>("d", 0, narrow);
  for (std::size_t i = 0; i != values.size(); ++i) {
    CHECK_EQ(floats[i], static_cast<float>(values[i]));
    CHECK_EQ(narrow[i].bits, bfloat16(static_cast<float>(values[i])).bits);
  }
  std::vector<double> wide(6);
  file.read<double>("h", 0, wide);
  CHECK_EQ(wide[0], 0x1.998p-4);
  CHECK_EQ(wide[1], -3);
  CHECK_EQ(wide[2], 65504);
  CHECK_EQ(wide[3], 0x1p-24);
  CHECK_EQ(wide[4], -std::numeric_limits<double>::infinity());
  CHECK(std::isnan(wide[5]));
}

TEST_CASE("The reference's weights can be read, by the names and shapes that its README gives") {
  SafetensorsFile const file(testing::reference_file("init.safetensors"));
  CHECK_EQ(file.names().size(), 28U);
  CHECK(file.find("h.1.attn.c_attn.weight").shape == std::vector<std::int64_t>{64, 192});
  std::vector<float> gain(64);
  file.read<float>("ln_f.weight", 0, gain);
  double sum = 0;
  for (float const value : gain) {
    sum += value;
  }
  CHECK_EQ(sum / 64, doctest::Approx(1).epsilon(0.05)); // drawn around 1 with deviation 0.05
}

TEST_CASE("A name that is not there, a range beyond the end and a type without numbers are refused") {
  TemporaryFolder const folder;
  std::string const path =
      folder.write("a", image(R"({"i":{"dtype":"I64","shape":[2],"data_offsets":[0,16]}})", std::string(16, '\1')));
  SafetensorsFile const file(path);
  float out[3] = {};
  CHECK(contains(error_text<FileError>([&] { static_cast<void>(file.find("wte")); }), "'wte' in '" + path));
  CHECK(contains(error_text<FileError>([&] { file.read<float>("i", 0, std::span(out, 2)); }), "found I64"));
  CHECK_THROWS_AS(file.read<float>("i", 0, out), InvalidArgument);
  CHECK_THROWS_AS(file.read<float>("i", -1, std::span(out, 1)), InvalidArgument);
  CHECK_THROWS_AS(file.read<float>("i", 2, std::span(out, 1)), InvalidArgument);
}

TEST_CASE("What is not a safetensors file is refused in a sentence that says what is wrong") {
  std::string const data(8, '\0');
  auto const tensor = [&](std::string const& fields) { return complaint(image(R"({"w":{)" + fields + "}}", data)); };
  struct Case {
    std::string found;
    char const* says;
  };
  for (Case const& c : {
           Case{complaint(""), "found 0 bytes"},
           Case{complaint("1234567"), "found 7 bytes"},
           Case{complaint(length_of(100) + "{}"), "a header of 100 bytes in a file of 10"},
           Case{complaint(length_of(~0ULL) + "{}"), "cut short or another format"},
           Case{complaint("PK\3\4" + std::string(500, 'x')), "another format"},
           Case{complaint(image("{\"w\":", "")), "expected JSON"},
           Case{complaint(image("", "")), "expected JSON"},
           Case{complaint(image("{\"\xff\":{}}", "")), "expected JSON"},
           Case{complaint(image("{\"w\":1e999}", "")), "a number that is too large"},
           Case{complaint(image("[1]", "")), "found array"},
           Case{complaint(image(R"({"w":3})", "")), "tensor 'w'"},
           Case{complaint(image(R"({"__metadata__":{"a":1}})", "")), "a string 'a'"},
           Case{complaint(image(R"({"__metadata__":[]})", "")), "__metadata__"},
           Case{tensor(R"("shape":[2],"data_offsets":[0,8])"), "a field 'dtype'"},
           Case{tensor(R"("dtype":"F32","data_offsets":[0,8])"), "a field 'shape'"},
           Case{tensor(R"("dtype":"F32","shape":[2])"), "a field 'data_offsets'"},
           Case{tensor(R"("dtype":"F31","shape":[2],"data_offsets":[0,8])"), "found \"F31\""},
           Case{tensor(R"("dtype":32,"shape":[2],"data_offsets":[0,8])"), "found 32"},
           Case{tensor(R"("dtype":"F32","shape":2,"data_offsets":[0,8])"), "array of whole numbers as its shape"},
           Case{tensor(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])"), "array of whole numbers as its shape"},
           Case{tensor(R"("dtype":"F32","shape":[2.0],"data_offsets":[0,8])"), "array of whole numbers as its shape"},
           Case{tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0])"), "data_offsets [begin, end]"},
           Case{tensor(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])"), "found [8,0]"},
           Case{tensor(R"("dtype":"F32","shape":[3],"data_offsets":[0,12])"), "within its 8 bytes of data"},
           Case{tensor(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])"), "expected 12 bytes"},
           Case{tensor(R"("dtype":"F32","shape":[4611686018427387905,4],"data_offsets":[0,8])"), "fewer than 2^64"},
           Case{tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])"), "expected 4 bytes, as its header says"},
           Case{tensor(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])"), "data from byte 0"},
           Case{tensor(R"("dtype":"F32","shape":[2],"shape":[2],"data_offsets":[0,8])"), "'shape' twice"},
           Case{complaint(image(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                                R"("v":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                                data)),
                "tensor 'v'"},
           Case{complaint(image(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                                R"("w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                                data)),
                "'w' twice"},
       }) {
    CAPTURE(c.found);
    CAPTURE(c.says);
    CHECK(contains(c.found, c.says));
  }
  CHECK_EQ(complaint(image("{}   ", "")), ""); // nothing in it, and nothing wrong with it
}

TEST_CASE("A file cut anywhere is refused") {
  std::string const whole = small_file();
  for (std::size_t length = 0; length != whole.size(); ++length) {
    CAPTURE(length);
    CHECK_NE(complaint(whole.substr(0, length)), "");
  }
  CHECK_NE(complaint(whole + "x"), "");
  CHECK_EQ(complaint(whole), "");
}

TEST_CASE("Whatever byte changes, a file is read or refused, never more") {
  TemporaryFolder const folder;
  std::string const whole = small_file();
  std::mt19937 random(1);
  int refused = 0;
  for (int round = 0; round != 600; ++round) {
    std::string bytes = whole;
    for (int flip = 0; flip <= round % 3; ++flip) {
      bytes[random() % bytes.size()] ^= static_cast<char>(1U << random() % 8);
    }
    std::string const path = folder.write("a", bytes);
    refused += error_text<FileError>([&] { read_all(path); }).empty() ? 0 : 1;
  }
  CHECK_GT(refused, 300); // most of the file is its header
}

TEST_CASE("A header of a million brackets is refused like any other, closed or not") {
  constexpr std::size_t depth = 1'000'000;
  CHECK_NE(complaint(image(std::string(depth, '['), "")), "");
  std::string const nested = std::string(depth, '[') + std::string(depth, ']');
  CHECK(contains(complaint(image(R"({"w":{"dtype":)" + nested + "}}", "")), "deeper nesting"));
}
