// The number of CPU cores that this process may use.
#pragma once

#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

namespace tandem {

/// The number of cores in the process's affinity mask (taskset, cpusets), or fewer if a CPU quota
/// of its control groups (containers, batch systems) allows fewer; at least 1.
int NumCores();

/// The least CPU quota, in cores, of the control groups named in `process` (/proc/self/cgroup) and
/// of all their parent groups under `root` (/sys/fs/cgroup); nothing if there is no quota. Reads
/// cpu.max of cgroup version 2 and cpu.cfs_quota_us of version 1.
std::optional<double> CpuQuota(const std::filesystem::path& process,
                               const std::filesystem::path& root);

/// The most physical memory that the process has used at any time, in bytes. Pages of mapped files
/// count while they are in memory.
inline std::int64_t PeakRssBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

inline bool IsTerminal(int fd) { return ::isatty(fd) == 1; }

/// Whether the cursor can be moved: `fd` is a terminal, and TERM is not "dumb".
inline bool HasCursor(int fd) {
  const char* term = std::getenv("TERM");
  return IsTerminal(fd) && (term == nullptr || std::string_view(term) != "dumb");
}

/// Whether to use colours: the cursor can be moved, and NO_COLOR (no-color.org) is not set.
inline bool UseColour(int fd) {
  const char* no_colour = std::getenv("NO_COLOR");
  return HasCursor(fd) && (no_colour == nullptr || *no_colour == '\0');
}

/// The width of the terminal in columns; 80 if it is unknown.
inline int TerminalWidth(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace tandem
