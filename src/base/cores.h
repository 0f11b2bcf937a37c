// How many CPU cores this process may use.
#pragma once

#include <filesystem>
#include <optional>

namespace tandem {

/// The cores of the process's affinity mask (taskset, cpusets), or fewer where a CPU quota of its
/// control groups (containers, batch systems) allows fewer; at least 1.
int NumCores();

/// The least CPU quota, in cores, of the control groups named in `process` (/proc/self/cgroup) and
/// of the groups around them, under `root` (/sys/fs/cgroup); nothing where there is none. Reads
/// cpu.max of version 2 and cpu.cfs_quota_us of version 1.
std::optional<double> CpuQuota(const std::filesystem::path& process,
                               const std::filesystem::path& root);

}  // namespace tandem
