#include <cleave/layers/linear.hpp>
#include <cleave/sharded/sharded_module.hpp>

using namespace cleave;

struct Typo {};
struct OtherCategory {
  using policy_category = int;
};
struct HalfAPolicy {
  using policy_category = category::sharding;
};

template <typename... Args>
constexpr bool accepted = sizeof(ShardedModule<Linear<2, 2>, Args...>) > 0;

#if defined(CONTROL)
static_assert(accepted<sharding::Full>);
// expect TYPO: cleave::ShardedModule: an argument .*is neither a layer .* nor a policy .*Correct its name
// expect TYPO: check_argument<Typo>
#elif defined(TYPO)
static_assert(accepted<Typo, sharding::Full>);
// expect CATEGORY: cleave::ShardedModule: an argument .* is neither a layer .* nor a policy
// expect CATEGORY: check_argument<OtherCategory>
#elif defined(CATEGORY)
static_assert(accepted<OtherCategory>);
// expect INCOMPLETE: cleave::ShardedModule: a policy .*lacks a member that its category needs. Add
// expect INCOMPLETE: check_policy<HalfAPolicy
#elif defined(INCOMPLETE)
static_assert(accepted<HalfAPolicy>);
#endif
