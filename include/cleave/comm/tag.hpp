#pragma once

#include <cstdint>

namespace cleave::comm {

enum class Operation : std::uint8_t { all_gather, reduce_scatter, all_reduce, broadcast, barrier };

/// What a rank believes it is doing. Ranks compare tags in every collective: ranks that disagree get an
/// error that names both sides, instead of a hang or each other's data.
struct Tag {
  std::uint32_t sequence = 0; ///< filled in by the communicator: how many collectives came before
  std::uint16_t unit = 0;     ///< which unit's data; see `name_units`
  Operation operation = Operation::barrier;
  std::uint8_t element_bytes = 0;
  std::uint64_t count = 0; ///< elements that each rank contributes

  friend constexpr bool operator==(Tag const&, Tag const&) = default;
};

/// The unit of collectives that belong to no unit: totals, norms, barriers.
inline constexpr std::uint16_t no_unit = 0xffff;

} // namespace cleave::comm
