#include <cleave/device/operations.hpp>

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

// PyTorch's defaults, but for AdamW's decay, which is left to the groups.
static_assert(op::LayerNorm{}.epsilon == 1e-5);
static_assert(op::AdamW{}.learning_rate == 1e-3 && op::AdamW{}.beta1 == 0.9 && op::AdamW{}.beta2 == 0.999);
static_assert(op::AdamW{}.epsilon == 1e-8 && op::AdamW{}.weight_decay == 0 && op::AdamW{}.step == 1);
static_assert(op::Sgd{}.momentum == 0 && !op::Sgd{}.nesterov && op::Sgd{}.gradient_scale == 1);

} // namespace
} // namespace cleave::testing
