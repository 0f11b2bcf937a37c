// Which GPU a process uses, and whether it has code for that GPU.
#pragma once

#include <memory>
#include <string>

namespace tandem {

class Device;

/// Returns the GPU of a rank that sees `count` GPUs, at least 1. If the launcher shows each rank
/// only its own GPU, that is number 0 in every rank.
inline int GpuOfRank(int local_rank, int count) { return local_rank % count; }

/// Opens the device of a rank as OpenDevice does, whose errors it throws. A rank takes the GPU of
/// GpuOfRank, whatever number `name` has.
std::unique_ptr<Device> OpenDeviceOfRank(const std::string& name, int local_rank);

/// Returns whether a library that was built for `architectures` has code for a GPU of a compute
/// capability. They are names of nvcc: "sm_75 sm_86 compute_90". A binary (sm) runs on GPUs of the
/// same major number and of no lower minor number, and PTX (compute) on all later GPUs. Returns
/// true if `architectures` is empty, because they are not known.
bool HasCodeFor(int major, int minor, const std::string& architectures);

}  // namespace tandem
