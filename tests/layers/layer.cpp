#include <cleave/layers/layer.hpp>

#include <array>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../support/names.hpp"

using namespace cleave;

namespace {

/// The least that a layer is.
struct Smallest {
  static constexpr int inputs = 2;
  static constexpr int outputs = 3;
  static constexpr std::array parameters{Parameter{"a", {2, 3}, init::zeros()}, Parameter{"b", {3}, init::zeros()}};
  template <typename T>
  struct Saved {};
};
/// A composition, which describes its parameters.
struct Composed : Smallest {
  static constexpr bool names_itself = true;
  static constexpr bool saves_output = true;
  static constexpr int vocabulary = 5;
  static constexpr int longest_sequence = 9;
};
struct WithoutSaved {
  static constexpr int inputs = 2;
  static constexpr int outputs = 3;
  static constexpr std::array<Parameter, 0> parameters{};
};
struct WithTarget : Smallest {
  using Target = std::int32_t;
};

} // namespace

static_assert(layer<Smallest> && layer<Composed> && !layer<WithoutSaved> && !layer<int>);
static_assert(loss_layer<WithTarget> && !layer<WithTarget> && !loss_layer<Smallest>,
              "a type is a layer or a loss, never both");
static_assert(parameter_count<Smallest> == 2 && parameter_count<WithoutSaved> == 0);
static_assert(!names_itself<Smallest> && !saves_output<Smallest> && vocabulary<Smallest> == 0 &&
              longest_sequence<Smallest> == 0);
static_assert(names_itself<Composed> && saves_output<Composed> && vocabulary<Composed> == 5 &&
              longest_sequence<Composed> == 9);

TEST_CASE("parameters are visited in the order of their declaration, names prefixed") {
  CHECK_EQ(testing::names_of<Smallest>(), std::vector<std::string>{"a", "b"});
  CHECK_EQ(testing::names_of<Smallest>("x.1"), std::vector<std::string>{"x.1.a", "x.1.b"});
}

TEST_CASE("slots are views into the flat buffer, and a later layer's follow") {
  std::array<float, 12> flat{};
  std::array<Index, 3> const offsets{4, 10, 0};
  Slots<float> const slots(flat.data(), offsets.data());
  CHECK_EQ(slots.matrix(0, 2, 3).data, flat.data() + 4);
  CHECK_EQ(slots.matrix(0, 2, 3).columns, 3);
  CHECK_EQ(slots.vector(1, 2).data, flat.data() + 10);
  CHECK_EQ(slots.skip(2).vector(0, 4).data, flat.data());
  CHECK_EQ(Slots<float>().skip(2).matrix(1, 2, 3).data, nullptr); // of a plan
}

TEST_CASE("each draw of a pass has another key, and the n-th the same again") {
  PlanningStream stream;
  Arena arena;
  using P = Pass<PlanningStream, float, float>;
  P first{stream, arena, {2, 3}, true, 0.1, 42};
  auto const one = first.draw_key();
  auto const two = first.draw_key();
  CHECK_NE(one, two);
  CHECK_EQ(first.draws, 2);
  first.draws = 1;
  CHECK_EQ(first.draw_key(), two);
  P other{stream, arena, {2, 3}, true, 0.1, 43};
  CHECK_NE(other.draw_key(), one);
}

TEST_CASE("an activation has a row for each position of each sequence") {
  PlanningStream stream;
  Arena arena;
  Pass<PlanningStream, bfloat16, float> pass{stream, arena, {2, 3}};
  auto const view = pass.activation(5);
  CHECK_EQ(view.rows, 6);
  CHECK_EQ(view.columns, 5);
  CHECK_EQ(arena.high_water(), 64); // 30 elements of two bytes
}
