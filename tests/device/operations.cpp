#include <cleave/device/operations.hpp>

#include <doctest/doctest.h>

#include <type_traits>

namespace cleave::testing {
namespace {

// Operations travel to streams by value, and from threads to threads.
template <typename... Operations>
inline constexpr bool all_plain = (std::is_trivially_copyable_v<Operations> && ...);
static_assert(
    all_plain<op::MatMul, op::ColumnSums, op::Add, op::Copy, op::Cast, op::Fill, op::Initialise, op::LayerNorm,
              op::LayerNormGradient, op::Activation<op::Elementwise::relu>,
              op::ActivationGradient<op::Elementwise::relu>, op::Dropout, op::Embedding, op::EmbeddingGradient,
              op::AddPositions, op::AddPositionsGradient, op::CausalAttention, op::CausalAttentionGradient,
              op::CrossEntropy, op::SquaredError, op::SquareSum, op::AdamW, op::Sgd>);

} // namespace

TEST_CASE("Operations default to PyTorch's settings, but for AdamW's decay, which is left to the groups") {
  CHECK_EQ(op::LayerNorm{}.epsilon, 1e-5);
  CHECK_EQ(op::AdamW{}.learning_rate, 1e-3);
  CHECK_EQ(op::AdamW{}.beta1, 0.9);
  CHECK_EQ(op::AdamW{}.beta2, 0.999);
  CHECK_EQ(op::AdamW{}.epsilon, 1e-8);
  CHECK_EQ(op::AdamW{}.weight_decay, 0);
  CHECK_EQ(op::Sgd{}.momentum, 0);
  CHECK(!op::Sgd{}.nesterov);
}

} // namespace cleave::testing
