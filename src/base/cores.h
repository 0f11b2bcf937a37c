// The number of CPU cores that this process may use.
#pragma once

#include <filesystem>
#include <optional>

namespace tandem {

/// The number of cores in the process's affinity mask (taskset, cpusets), or fewer if a CPU quota
/// of its control groups (containers, batch systems) allows fewer; at least 1.
int NumCores();

/// The least CPU quota, in cores, of the control groups named in `process` (/proc/self/cgroup) and
/// of all their parent groups under `root` (/sys/fs/cgroup); nothing if there is no quota. Reads
/// cpu.max of cgroup version 2 and cpu.cfs_quota_us of version 1.
std::optional<double> CpuQuota(const std::filesystem::path& process,
                               const std::filesystem::path& root);

}  // namespace tandem
