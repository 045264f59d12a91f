#include <cleave/comm/self.hpp>
#include <cleave/layers/linear.hpp>
#include <cleave/sharded/sharded_module.hpp>

using namespace cleave;

struct OtherCommunicator : comm::Self {};
struct OtherDevice : device::Cpu {};

template <typename... Policies>
constexpr bool accepted = sizeof(ShardedModule<Linear<2, 2>, Policies...>) > 0;

// expect PRECISION: cleave::ShardedModule: two policies of one category .*Keep one of them
// expect PRECISION: check_unique<cleave::category::precision, 2>
#if defined(CONTROL)
static_assert(accepted<precision::Full<float>, sharding::None, prefetch::None, prefetch::Forward<1>, reduction::Sum,
                       recompute::All, comm::Self, device::Cpu>);
#elif defined(PRECISION)
static_assert(accepted<precision::Full<float>, sharding::None, precision::Full<float>>);
// expect SHARDING: cleave::ShardedModule: two policies of one category
// expect SHARDING: check_unique<cleave::category::sharding, 3>
#elif defined(SHARDING)
static_assert(accepted<sharding::Full, sharding::None, sharding::Full>);
// expect PREFETCH: cleave::ShardedModule: two policies of one category
// expect PREFETCH: check_unique<cleave::category::prefetch, 2>
#elif defined(PREFETCH)
static_assert(accepted<prefetch::BackwardPre<>, prefetch::None>);
// expect FORWARD: cleave::ShardedModule: two policies of one category
// expect FORWARD: check_unique<cleave::category::forward_prefetch, 2>
#elif defined(FORWARD)
static_assert(accepted<prefetch::Forward<0>, prefetch::Forward<1>>);
// expect REDUCTION: cleave::ShardedModule: two policies of one category
// expect REDUCTION: check_unique<cleave::category::reduction, 2>
#elif defined(REDUCTION)
static_assert(accepted<reduction::Sum, reduction::MeanOverRanks>);
// expect RECOMPUTE: cleave::ShardedModule: two policies of one category
// expect RECOMPUTE: check_unique<cleave::category::recompute, 2>
#elif defined(RECOMPUTE)
static_assert(accepted<recompute::None, recompute::All>);
// expect COMMUNICATOR: cleave::ShardedModule: two policies of one category
// expect COMMUNICATOR: check_unique<cleave::category::communicator, 2>
#elif defined(COMMUNICATOR)
static_assert(accepted<comm::Self, OtherCommunicator>);
// expect DEVICE: cleave::ShardedModule: two policies of one category
// expect DEVICE: check_unique<cleave::category::device, 2>
#elif defined(DEVICE)
static_assert(accepted<device::Cpu, OtherDevice>);
#endif
