#include <cleave/core/tensor.hpp>

#include <array>
#include <numeric>
#include <type_traits>

#include <doctest/doctest.h>

using namespace cleave;

static_assert(std::is_signed_v<Index>);
static_assert(std::is_convertible_v<Vector<float>, Vector<float const>>);
static_assert(!std::is_convertible_v<Vector<float const>, Vector<float>>);
static_assert(std::is_convertible_v<Matrix<float>, Matrix<float const>>);
static_assert(!std::is_convertible_v<Matrix<float const>, Matrix<float>>);
static_assert(std::is_trivially_copyable_v<Matrix<double>>);
static_assert(!Matrix<float>{}.wanted());
static_assert(Matrix<float>(nullptr, 2, 3).wanted(), "a view of a plan is wanted although it has no memory");
static_assert(Shape{.batch = 3, .sequence = 5}.rows() == 15);

namespace {
auto counted() {
  std::array<int, 60> values{};
  std::iota(values.begin(), values.end(), 0);
  return values;
}
} // namespace

TEST_CASE("slices of a vector lie where their elements are") {
  auto values = counted();
  Vector<int> const whole{values.data(), 60};
  for (Index first = 0; first != 60; ++first) {
    Vector<int const> const rest = whole.slice(first, 60 - first);
    CHECK_EQ(rest.size, 60 - first);
    CHECK_EQ(rest.data[0], first);
  }
}

TEST_CASE("row and column slices see the elements of the whole, in any order of slicing") {
  auto values = counted();
  Matrix<int> const whole(values.data(), 5, 12);
  for (Index r = 0; r != 5; ++r) {
    for (Index c = 0; c != 12; ++c) {
      auto const rows_first = whole.row_slice(r, 1).column_slice(c, 1);
      auto const columns_first = whole.column_slice(c, 1).row_slice(r, 1);
      CHECK_EQ(*rows_first.data, r * 12 + c);
      CHECK_EQ(columns_first.data, rows_first.data);
      CHECK_EQ(whole.row(r).slice(c, 1).data, rows_first.data);
    }
  }
}

TEST_CASE("a row of a column slice is as wide as the slice and strides over the whole") {
  auto values = counted();
  auto const middle = Matrix<int>(values.data(), 5, 12).column_slice(4, 4);
  CHECK_EQ(middle.row(2).size, 4);
  CHECK_EQ(middle.row(2).data[0], 2 * 12 + 4);
}

TEST_CASE("views without memory keep their shapes and stay without memory") {
  constexpr Matrix<float> plan(nullptr, 6, 8);
  static_assert(plan.row_slice(2, 3).data == nullptr && plan.row_slice(2, 3).rows == 3);
  static_assert(plan.column_slice(2, 3).data == nullptr && plan.column_slice(2, 3).columns == 3);
  static_assert(plan.row(5).data == nullptr && plan.row(5).size == 8);
  static_assert(Vector<float>{nullptr, 9}.slice(4, 2).data == nullptr);
  CHECK(plan.wanted());
}
