#pragma once

#include <cstdio>
#include <memory>

#include <cleave/core/error.hpp>
#include <cleave/core/tensor.hpp>

namespace cleave::observe {

/// What this process has in memory, as the system counts it.
struct ProcessMemory {
  Index resident = 0;      ///< bytes, now
  Index peak_resident = 0; ///< bytes, the most so far
};

/// Reads /proc/self/status (VmRSS, VmHWM). Throws FileError where there is none, as outside Linux.
[[nodiscard]] inline ProcessMemory process_memory() {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> const status(std::fopen("/proc/self/status", "r"), &std::fclose);
  ProcessMemory memory;
  long kilobytes = 0;
  for (char line[256]; status && std::fgets(line, sizeof(line), status.get()) != nullptr;) {
    if (std::sscanf(line, "VmRSS: %ld kB", &kilobytes) == 1) {
      memory.resident = Index{1024} * kilobytes;
    } else if (std::sscanf(line, "VmHWM: %ld kB", &kilobytes) == 1) {
      memory.peak_resident = Index{1024} * kilobytes;
    }
  }
  if (memory.resident == 0 || memory.peak_resident == 0) {
    throw FileError(
        "expected VmRSS and VmHWM in /proc/self/status, found neither or one of them; memory can be measured on "
        "Linux only");
  }
  return memory;
}

} // namespace cleave::observe
