#include <cleave/core/eigen.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <type_traits>

#include <doctest/doctest.h>

#include <cleave/core/scalar.hpp>

using namespace cleave;

namespace {
template <typename View>
concept has_eigen_view = requires(View view) { as_eigen(view); };

template <typename View>
concept writable = requires(View view) { as_eigen(view)(0) = 1; };

auto counted() {
  std::array<float, 60> values{};
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}
} // namespace

static_assert(has_eigen_view<Matrix<double>> && has_eigen_view<Vector<std::int32_t const>>);
static_assert(!has_eigen_view<Matrix<bfloat16>>, "Eigen cannot compute with it");
static_assert(writable<Vector<float>> && !writable<Vector<float const>>);
static_assert(!std::is_assignable_v<decltype(as_eigen(Matrix<float const>{})(0, 0)), float>);

TEST_CASE("Eigen sees the elements of a matrix where they lie, whatever its rows stride over") {
  auto values = counted();
  Matrix<float> const whole(values.data(), 5, 12);
  for (Matrix<float> const view : {whole, whole.row_slice(1, 3), whole.column_slice(4, 5), whole.column_slice(7, 1)}) {
    auto const seen = as_eigen(view);
    REQUIRE_EQ(seen.rows(), view.rows);
    REQUIRE_EQ(seen.cols(), view.columns);
    for (Index r = 0; r != view.rows; ++r) {
      for (Index c = 0; c != view.columns; ++c) {
        CHECK_EQ(&seen.coeffRef(r, c), view.row(r).data + c);
      }
    }
  }
}

TEST_CASE("a vector is a column of Eigen's") {
  auto values = counted();
  auto const middle = as_eigen(Vector<float const>{values.data() + 10, 20});
  CHECK_EQ(middle.rows(), 20);
  CHECK_EQ(middle.cols(), 1);
  CHECK_EQ(middle.data(), values.data() + 10);
  CHECK_EQ(middle(19), 29.0F);
}

TEST_CASE("what Eigen computes into a view stays within it") {
  auto values = counted();
  auto const before = values;
  auto const middle = Matrix<float>(values.data(), 5, 12).row_slice(1, 3).column_slice(4, 4);
  auto const weights = Vector<float const>{before.data() + 1, 4};
  as_eigen(middle).rowwise() += as_eigen(weights).transpose();
  for (Index i = 0; i != 60; ++i) {
    Index const r = i / 12 - 1;
    Index const c = i % 12 - 4;
    bool const inside = r >= 0 && r < 3 && c >= 0 && c < 4;
    auto const at = static_cast<std::size_t>(i);
    CHECK_EQ(values[at], before[at] + (inside ? static_cast<float>(c + 1) : 0.0F));
  }
}
