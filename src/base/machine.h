// Properties of the machine and of the process: cores, memory and terminals.
#pragma once

#include <unistd.h>  // for STDIN_FILENO, STDOUT_FILENO and STDERR_FILENO

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace tandem {

/// The number of cores in the process's affinity mask (taskset, cpusets), or fewer if a CPU quota
/// of its control groups (containers, batch systems) allows fewer; at least 1.
int NumCores();

/// The most threads that a key may request. `auto` requests fewer if there are more cores.
inline constexpr int kMostThreads = 1024;

/// CpuSet is the cores that the process may use.
struct CpuSet {
  std::string mask;  ///< the affinity mask, as bytes
  int count = 0;     ///< of the cores in it
};
CpuSet AllowedCpus();

/// Whether the CPU has a feature, by Linux's name for it ("amx_bf16"). Only x86 CPUs have any.
bool CpuHas(std::string_view feature);

/// Whether Intel made the CPU.
bool CpuIsIntel();

/// The name of this machine.
std::string HostName();

/// The least CPU quota, in cores, of the control groups named in `process` (/proc/self/cgroup) and
/// of all their parent groups under `root` (/sys/fs/cgroup); nothing if there is no quota. Reads
/// cpu.max of cgroup version 2 and cpu.cfs_quota_us of version 1.
std::optional<double> CpuQuota(const std::filesystem::path& process,
                               const std::filesystem::path& root);

/// The least CPU quota of this process.
std::optional<double> CpuQuota();

/// The most physical memory that the process has used at any time, in bytes. Pages of mapped files
/// count while they are in memory.
std::int64_t PeakRssBytes();

/// Lets malloc keep up to 1 GiB of freed memory, and take blocks of up to 32 MiB from it. By
/// default glibc returns the megabytes of a step's activations to the system and allocates them
/// again, page fault by page fault, which takes a fifth of training and a third of labelling by a
/// network.
void KeepFreedMemory();

bool IsTerminal(int fd);

/// Whether the cursor can be moved: `fd` is a terminal, and TERM is not "dumb".
bool HasCursor(int fd);

/// Whether to use colours: the cursor can be moved, and NO_COLOR (no-color.org) is not set.
bool UseColour(int fd);

/// The width of the terminal in columns; 80 if it is unknown.
int TerminalWidth(int fd);

}  // namespace tandem
