#include <cleave/checkpoint/safetensors.hpp> // first: the header stands alone

#include <vector>

#include <doctest/doctest.h>

#include "../support/reference.hpp"
#include "../support/temporary_folder.hpp"

using namespace cleave;
using namespace cleave::checkpoint;

TEST_CASE("A copy of the reference's weights, tensor by tensor, equals them") {
  testing::TemporaryFolder const folder;
  SafetensorsFile const original(testing::reference_file("init.safetensors"));
  std::vector<TensorSpec> tensors;
  for (std::string const& name : original.names()) {
    tensors.push_back({name, original.find(name).dtype, original.find(name).shape});
  }
  SafetensorsWriter writer(folder.path("copy"), tensors, original.metadata());
  for (std::string const& name : original.names()) {
    std::vector<float> values(static_cast<std::size_t>(original.find(name).size()));
    original.read<float>(name, 0, values);
    writer.write<float>(name, 0, values);
  }
  writer.commit();

  SafetensorsFile const copy(folder.path("copy"));
  CHECK(copy.names() == original.names());
  for (std::string const& name : copy.names()) {
    CHECK(copy.find(name).shape == original.find(name).shape);
    std::span const bytes = copy.find(name).bytes;
    CHECK(std::equal(bytes.begin(), bytes.end(), original.find(name).bytes.begin(), original.find(name).bytes.end()));
  }
}
