#include <cleave/layers/linear.hpp>
#include <cleave/layers/repeat.hpp>
#include <cleave/sharded/sharded_module.hpp>

using namespace cleave;

template <typename Policy>
constexpr bool accepted = sizeof(ShardedModule<Repeat<2, Linear<2, 2>>, Policy>) > 0;

#if defined(CONTROL)
static_assert(accepted<precision::Mixed<bfloat16>> && accepted<prefetch::BackwardPre<2>> &&
              accepted<prefetch::Forward<0>> && accepted<prefetch::Forward<2>> &&
              accepted<recompute::Types<Linear<2, 2>>>);
// expect FULL: cleave::precision::Full<bfloat16>: master weights in 16 bits lose .*Use precision::Mixed
#elif defined(FULL)
static_assert(accepted<precision::Full<bfloat16>>);
// expect MIXED: cleave::precision::Mixed: Param is as wide as the master weights.*Use precision::Full
#elif defined(MIXED)
static_assert(accepted<precision::Mixed<float>>);
// expect REDUCE: cleave::precision::Mixed: gradients are added in float.*Leave the second argument out
#elif defined(REDUCE)
static_assert(accepted<precision::Mixed<bfloat16, bfloat16>>);
// expect PRE: cleave::prefetch::BackwardPre: depth 0 fetches nothing ahead. Use prefetch::None
#elif defined(PRE)
static_assert(accepted<prefetch::BackwardPre<0>>);
// expect POST: cleave::prefetch::BackwardPost: depth 0 fetches nothing ahead. Use prefetch::None
#elif defined(POST)
static_assert(accepted<prefetch::BackwardPost<0>>);
// expect NEGATIVE: cleave::prefetch::Forward: the depth is negative. Use 0 to fetch nothing ahead
#elif defined(NEGATIVE)
static_assert(accepted<prefetch::Forward<-1>>);
// expect DEPTH: cleave::ShardedModule: the prefetch depth is larger than the number of units .*Lower it
// expect DEPTH: check_depth<3, 2>
#elif defined(DEPTH)
static_assert(accepted<prefetch::BackwardPost<3>>);
// expect FORWARD_DEPTH: cleave::ShardedModule: the prefetch depth is larger than the number of units .*Lower it
// expect FORWARD_DEPTH: check_depth<4, 2>
#elif defined(FORWARD_DEPTH)
static_assert(accepted<prefetch::Forward<4>>);
// expect NO_TYPE: cleave::recompute::Types<>: no layer is named. Name one, or use recompute::None
#elif defined(NO_TYPE)
static_assert(accepted<recompute::Types<>>);
// expect ABSENT: cleave::recompute::Types: the model does not contain one of the layers .*Name a layer of the model
// expect ABSENT: check_recomputed<cleave::Linear<3, 3
#elif defined(ABSENT)
static_assert(accepted<recompute::Types<Linear<2, 2>, Linear<3, 3>>>);
#endif
