#pragma once

#include <cstdint>

#include <cleave/core/tensor.hpp>

/// The closed set of operations that layers and engine are written in.
///
/// A call is `stream.run(op::Name{settings}, views...)`. It is asynchronous: views must stay valid until the
/// stream has passed it. Each device implements the whole set; device/cpu is the reference.
///
/// T is the compute type (float, double, bfloat16), G the type of parameter gradients (at least float), A
/// the accumulator of T (float for bfloat16). Sums are kept in at least float. "Adds to" means +=.
/// The order of summation depends on shapes only, never on timing.
namespace cleave::op {

/// (Matrix<O> c, Matrix<T const> a, Matrix<T const> b, Vector<T const> bias): c = a b + bias, a row of bias
/// added to each row of c. O is T or G. A null bias adds nothing; `accumulate` adds to c instead (no bias then).
/// (rows, inner) x (inner, columns) after the transposes; strides are free.
struct MatMul {
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;
};

/// (Vector<G> sums, Matrix<T const> x): adds each column's sum to `sums`. The gradient of a bias.
struct ColumnSums {};

/// (Matrix<T> y, Matrix<T const> a, Matrix<T const> b): y = a + b. y may be a or b.
struct Add {};

/// (Matrix<T> y, Matrix<T const> x): y = x.
struct Copy {};

/// (Vector<To> y, Vector<From const> x): y = x, rounded to nearest.
struct Cast {};

/// (Vector<T> y): every element becomes `value`.
struct Fill {
  double value = 0;
};

/// (Vector<T> y): elements first .. first + size of the parameter that `initialiser` and `key` describe.
/// Element i is a function of (key, i) alone.
struct Initialise {
  std::uint64_t key = 0;
  Index first = 0;
  int kind = 0; ///< an Initialiser::Kind
  double scale = 0;
};

/// (Matrix<T> y, Vector<A> mean, Vector<A> rstd, Matrix<T const> x, Vector<T const> gain, Vector<T const> bias):
/// y = (x - mean) * rstd * gain + bias over each row (torch.nn.LayerNorm, variance over n).
struct LayerNorm {
  double epsilon = 1e-5;
};

/// (Matrix<T> dx, Vector<G> dgain, Vector<G> dbias, Matrix<T const> dy, Matrix<T const> x, Vector<A const> mean,
/// Vector<A const> rstd, Vector<T const> gain): sets dx (unless not wanted), adds to dgain and dbias.
struct LayerNormGradient {};

/// The functions that act on each element alone.
enum class Elementwise { gelu_tanh, gelu_exact, relu, silu, tanh, sigmoid };

/// (Matrix<T> y, Matrix<T const> x): y = f(x). y may be x.
template <Elementwise F>
struct Activation {};

/// (Matrix<T> dx, Matrix<T const> dy, Matrix<T const> x): dx = dy * f'(x). dx may be dy.
template <Elementwise F>
struct ActivationGradient {};

/// (Matrix<T> y, Matrix<T const> x): each element is zeroed with `probability`, else divided by 1 - probability.
/// The mask of element (r, c) is a function of (key, (first_row + r) * columns + c) alone; its gradient is the
/// same operation. y may be x.
struct Dropout {
  std::uint64_t key = 0;
  double probability = 0;
  Index first_row = 0; ///< of the global batch
};

/// (Matrix<T> y, Matrix<T const> table, Tokens tokens): row r of y is row tokens[r] of the table.
struct Embedding {};

/// (Matrix<G> dtable, Matrix<T const> dy, Tokens tokens): adds row r of dy to row tokens[r], in order of r.
struct EmbeddingGradient {};

/// (Matrix<T> y, Matrix<T const> x, Matrix<T const> table): y = x + table[r % sequence]. y may be x.
struct AddPositions {
  Index sequence = 1;
};

/// (Matrix<G> dtable, Matrix<T const> dy): adds row r of dy to row r % sequence, in order of r.
struct AddPositionsGradient {
  Index sequence = 1;
};

/// (Matrix<T> out, Matrix<A> log_sum, Matrix<T const> qkv): multi-head attention, causal, scale 1 / sqrt(head width).
/// qkv is (rows, 3 width): queries, keys, values, each heads x head width. out is (rows, width). log_sum is
/// (rows, heads): the logarithm of each softmax's denominator, for the gradient. Runs over blocks of keys with
/// a running maximum and sum (FlashAttention, Dao et al. 2022): no sequence x sequence matrix is stored.
struct CausalAttention {
  Index sequence = 1;
  Index heads = 1;
};

/// (Matrix<T> dqkv, Matrix<T const> dout, Matrix<T const> out, Matrix<A const> log_sum, Matrix<T const> qkv):
/// sets dqkv.
struct CausalAttentionGradient {
  Index sequence = 1;
  Index heads = 1;
};

/// (double* loss, Matrix<T> logits, Vector<int32 const> targets): adds sum of -log softmax(logits)[target] to *loss,
/// rows whose target is `ignored_target` left out, rows added in order.
/// With `gradient`, logits become their own gradient times `scale`: (softmax - onehot) * scale, zero in rows left out.
struct CrossEntropy {
  bool gradient = false;
  double scale = 1;
};

/// (double* loss, Matrix<T> dy, Matrix<T const> y, Matrix<T const> targets): adds sum of (y - target)^2 to *loss.
/// If dy is wanted it becomes 2 (y - target) * scale.
struct SquaredError {
  double scale = 1;
};

/// (double* sum, Vector<T const> x): adds the sum of x^2, kept in double, to *sum.
struct SquareSum {};

/// (Vector<M> weights, Vector<M> first, Vector<M> second, Vector<G const> gradient): one step of AdamW (Loshchilov and
/// Hutter, 2019; torch.optim.AdamW). The gradient is multiplied by `gradient_scale` first. `step` counts from 1.
struct AdamW {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  double gradient_scale = 1;
  std::int64_t step = 1;
};

/// (Vector<M> weights, Vector<M> momentum_buffer, Vector<G const> gradient): one step of torch.optim.SGD (dampening 0).
/// A null momentum_buffer goes with momentum 0; the first step (step 1) sets the buffer to the gradient.
struct Sgd {
  double learning_rate = 1e-2;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
  double gradient_scale = 1;
  std::int64_t step = 1;
};

} // namespace cleave::op
