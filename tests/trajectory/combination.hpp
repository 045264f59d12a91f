#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include <cleave/comm/threads.hpp>

#include "reference.hpp"
#include "report.hpp"

#if defined(TRAJECTORY_MPI)
#include <cleave/comm/mpi.hpp>
#endif

namespace trajectory {

/// One combination of policies, compiled in a file of its own.
struct Combination {
  std::array<std::string, 5> choices; // strategy, prefetch, precision, recompute, reduction
  std::function<Report(cleave::comm::Threads&, Reference const&, Case const&, Index micro_batches)> on_threads;
#if defined(TRAJECTORY_MPI)
  std::function<Report(cleave::comm::Mpi&, Reference const&, Case const&, Index micro_batches)> on_mpi;
#endif

  [[nodiscard]] std::string name() const;
};

/// Every combination that was linked in.
std::vector<Combination>& combinations();

} // namespace trajectory
