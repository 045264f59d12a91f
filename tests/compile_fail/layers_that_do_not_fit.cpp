#include <cleave/layers/activations.hpp>
#include <cleave/layers/embedding.hpp>
#include <cleave/layers/linear.hpp>
#include <cleave/layers/repeat.hpp>
#include <cleave/layers/residual.hpp>
#include <cleave/layers/sequential.hpp>
#include <cleave/sharded/sharded_module.hpp>

using namespace cleave;

#if defined(CONTROL)
static_assert(Sequential<Linear<2, 3>, Gelu, Linear<3, 5>>::outputs == 5);
static_assert(sizeof(ShardedModule<Linear<2, 3>, Gelu, Linear<3, 5>>) > 0);
static_assert(Residual<Linear<3, 3>>::inputs == 3 && Repeat<2, Linear<3, 3>>::inputs == 3);
static_assert(Sequential<Embedding<9, 3>, Gelu>::outputs == 3);
// expect SEQUENTIAL: cleave::layer: one layer's outputs are not the next layer's inputs .*Make the two widths equal
// expect SEQUENTIAL: check_fit<3, 4>
#elif defined(SEQUENTIAL)
static_assert(Sequential<Linear<2, 3>, Gelu, Linear<4, 5>>::outputs == 5);
// expect PACK: cleave::layer: one layer's outputs are not the next layer's inputs .*Make the two widths equal
// expect PACK: check_fit<3, 4>
#elif defined(PACK)
static_assert(sizeof(ShardedModule<Linear<2, 3>, Gelu, Linear<4, 5>>) > 0);
// expect INSIDE: cleave::layer: one layer's outputs are not the next layer's inputs .*Make the two widths equal
// expect INSIDE: check_fit<3, 4>
#elif defined(INSIDE)
static_assert(sizeof(ShardedModule<Linear<2, 2>, Sequential<Linear<2, 3>, Linear<4, 5>>>) > 0);
// expect RESIDUAL: cleave::Residual<L>: L returns another number of features than it takes .*Give it equal widths
// expect RESIDUAL: check_residual<3, 4>
#elif defined(RESIDUAL)
static_assert(Residual<Sequential<Linear<3, 8>, Linear<8, 4>>>::inputs == 3);
// expect REPEAT: cleave::Repeat<N, L>: L returns another number of features than it takes .*Give it equal widths
// expect REPEAT: check_repeat<3, 4>
#elif defined(REPEAT)
static_assert(Repeat<2, Linear<3, 4>>::inputs == 3);
// expect TOKENS: cleave::layer: a layer that starts from tokens stands behind another .*Put the Embedding
#elif defined(TOKENS)
static_assert(Sequential<Gelu, Embedding<9, 3>>::outputs == 3);
// expect TOKENS_IN_PACK: cleave::layer: a layer that starts from tokens stands behind another .*Put the Embedding
#elif defined(TOKENS_IN_PACK)
static_assert(sizeof(ShardedModule<Linear<3, 3>, Embedding<9, 3>>) > 0);
#endif
