// The peak memory use of the process.
#pragma once

#include <sys/resource.h>

#include <cstdint>

namespace tandem {

/// The most physical memory that the process has used at any time, in bytes. Pages of mapped files
/// count while they are in memory.
inline std::int64_t PeakRssBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace tandem
