// How much memory a program has used.
#pragma once

#include <sys/resource.h>

#include <cstdint>

namespace tandem {

/// The most memory of the machine that the process has had at a time. Pages of files on disk that
/// are mapped count while they are in memory.
inline std::int64_t PeakRssBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace tandem
