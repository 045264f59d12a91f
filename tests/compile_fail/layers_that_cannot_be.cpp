#include <cleave/layers/attention.hpp>
#include <cleave/layers/cross_entropy.hpp>
#include <cleave/layers/embedding.hpp>
#include <cleave/layers/layer_norm.hpp>
#include <cleave/layers/linear.hpp>
#include <cleave/layers/mean_squared_error.hpp>
#include <cleave/layers/positional_embedding.hpp>
#include <cleave/layers/repeat.hpp>
#include <cleave/layers/sequential.hpp>
#include <cleave/layers/tied.hpp>

using namespace cleave;

#if defined(CONTROL)
static_assert(CausalSelfAttention<6, 3>::inputs == 6 && Linear<1, 1>::inputs == 1 && CrossEntropy<2>::inputs == 2);
// expect HEADS: cleave::CausalAttention<Width, Heads>: the width does not divide into heads .*Make it a multiple
// expect HEADS: check_heads<6, 4>
#elif defined(HEADS)
static_assert(CausalSelfAttention<6, 4>::inputs == 6);
// expect LINEAR: cleave::Linear<In, Out>: a width is not positive. Give both
#elif defined(LINEAR)
static_assert(Linear<0, 1>::outputs == 1);
// expect EMBEDDING: cleave::Embedding<Vocabulary, Width>: a size is not positive. Give both
#elif defined(EMBEDDING)
static_assert(Embedding<5, 0>::inputs == 0);
// expect POSITIONAL: cleave::PositionalEmbedding<Context, Width>: a size is not positive. Give both
#elif defined(POSITIONAL)
static_assert(PositionalEmbedding<0, 4>::inputs == 4);
// expect NORM: cleave::LayerNorm<Width>: the width is not positive. Give
#elif defined(NORM)
static_assert(LayerNorm<-1>::inputs == -1);
// expect CLASSES: cleave::CrossEntropy<Classes>: there is nothing to tell apart. Give at least two
#elif defined(CLASSES)
static_assert(CrossEntropy<1>::inputs == 1);
// expect OUTPUT: cleave::OutputCrossEntropy<Width, Vocabulary>: a size is not positive. Give both
#elif defined(OUTPUT)
static_assert(OutputCrossEntropy<0, 4>::inputs == 0);
// expect SQUARED: cleave::MeanSquaredError<Width>: the width is not positive. Give
#elif defined(SQUARED)
static_assert(MeanSquaredError<0>::inputs == 0);
// expect NO_LAYER: cleave::Sequential<>: there is no layer. List at least one
#elif defined(NO_LAYER)
static_assert(Sequential<>::inputs == 0);
// expect REPEAT: cleave::Repeat<N, L>: N is not positive. Repeat the layer at least once
#elif defined(REPEAT)
static_assert(Repeat<0, Linear<2, 2>>::inputs == 2);
// expect NOTHING_TO_TIE: cleave::Tied<Text, L>: L has no parameter that could be tied. Leave Tied out
#elif defined(NOTHING_TO_TIE)
static_assert(parameter_count<Tied<"weight", CausalAttention<4, 2>>> == 0);
#endif
