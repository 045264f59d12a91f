#include <cleave/checkpoint/dtype.hpp> // first: the header stands alone

#include <doctest/doctest.h>

using namespace cleave;
using namespace cleave::checkpoint;

static_assert(dtype_of<double> == Dtype::float64);
static_assert(dtype_of<float> == Dtype::float32);
static_assert(dtype_of<bfloat16> == Dtype::bfloat16);
static_assert(dtype_name(Dtype::bfloat16) == "BF16");
static_assert(!find_dtype("f32") && !find_dtype("") && !find_dtype("F4"));

TEST_CASE("The table of types is in the order of the types, and names differ") {
  for (std::size_t i = 0; i != detail::dtype_table.size(); ++i) {
    auto const dtype = static_cast<Dtype>(i);
    CHECK_EQ(static_cast<std::size_t>(detail::dtype_table[i].dtype), i);
    CHECK(find_dtype(dtype_name(dtype)) == dtype);
    CHECK_GT(dtype_bytes(dtype), 0);
  }
}
