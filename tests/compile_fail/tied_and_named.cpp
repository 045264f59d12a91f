#include <cleave/layers/cross_entropy.hpp>
#include <cleave/layers/embedding.hpp>
#include <cleave/layers/linear.hpp>
#include <cleave/layers/named.hpp>
#include <cleave/layers/repeat.hpp>
#include <cleave/layers/sequential.hpp>
#include <cleave/layers/tied.hpp>
#include <cleave/sharded/sharded_module.hpp>

using namespace cleave;

template <typename... Ls>
struct Model {
  using Layers = LayerList<Named<"wte", Embedding<5, 4>>, Ls...>;
};
template <typename M>
constexpr bool accepted = sizeof(ShardedModule<M>) > 0;

#if defined(CONTROL)
static_assert(accepted<Model<Tied<"wte.weight", OutputCrossEntropy<4, 5>>>>);
static_assert(accepted<Model<Repeat<2, Sequential<Named<"a", Linear<4, 4>>, Tied<"a.weight", Linear<4, 4>>>>>>);
static_assert(accepted<Sequential<Named<"a", Linear<4, 4>>, Named<"b", Linear<4, 4>>>>);
// expect NAME: cleave::Tied<Text, L>: there is no parameter called Text .*Correct Text, or
// expect NAME: check_names<cleave::Tied<.*wtx.weight
#elif defined(NAME)
static_assert(accepted<Model<Tied<"wtx.weight", OutputCrossEntropy<4, 5>>>>);
// expect UNIT: cleave::Tied<Text, L>: there is no parameter called Text .* put both layers in one unit
#elif defined(UNIT)
static_assert(accepted<Model<Repeat<2, Tied<"wte.weight", Linear<4, 4>>>>>);
// expect OTHER_UNIT: cleave::Tied<Text, L>: there is no parameter called Text .* put both layers in one unit
#elif defined(OTHER_UNIT)
static_assert(sizeof(ShardedModule<Named<"a", Linear<4, 4>>, Tied<"a.weight", Linear<4, 4>>>) > 0);
// expect SHAPE: cleave::Tied<Text, L>: L's parameter has another shape than the one called Text .*Make the shapes equal
#elif defined(SHAPE)
static_assert(accepted<Model<Tied<"wte.weight", OutputCrossEntropy<4, 6>>>>);
// expect TWICE: cleave::Named: two parameters of one unit have the same name .*Give their layers different names
#elif defined(TWICE)
static_assert(accepted<Sequential<Named<"a", Linear<4, 4>>, Named<"a", Linear<4, 4>>>>);
// expect TWICE_IN_ROOT: cleave::Named: two parameters of one unit have the same name .*Give their layers different
// names
#elif defined(TWICE_IN_ROOT)
static_assert(accepted<Model<Named<"wte", Linear<4, 4>>>>);
#endif
