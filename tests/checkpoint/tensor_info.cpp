#include <cleave/checkpoint/tensor_info.hpp> // first: the header stands alone

#include <array>

#include <doctest/doctest.h>

using namespace cleave;
using namespace cleave::checkpoint;

TEST_CASE("A tensor has as many elements as its bytes hold, in every type") {
  std::array<std::byte, 48> const bytes{};
  for (std::size_t i = 0; i != detail::dtype_table.size(); ++i) {
    TensorInfo const tensor{static_cast<Dtype>(i), {}, bytes};
    CHECK_EQ(tensor.size() * dtype_bytes(tensor.dtype), 48);
  }
}
