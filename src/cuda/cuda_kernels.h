// The kernels of Tandem: passes of networks (device_pass.h), and permutations of rows by the same
// table as on the CPU (domain/permute.h). Part of libtandem_cuda; compiled only if nvcc was found.
#pragma once

#include <cuda_runtime_api.h>

#include <string>
#include <string_view>

#include "domain/permute_tile.h"
#include "nn/gpu/pass_runner.h"
#include "tandem/error.h"

namespace tandem {

/// Call it directly after starting a kernel, which `kernel` describes. Throws Error with CUDA's
/// reason if the kernel could not start, or if earlier work on the GPU has failed meanwhile.
inline void CheckLaunch(std::string_view kernel) {
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return;
  throw Error(std::string("CUDA reports an error when ")
                  .append(kernel)
                  .append(" is started: ")
                  .append(cudaGetErrorString(error))
                  .append(". Earlier work on the GPU may be the cause; with the environment "
                          "variable CUDA_LAUNCH_BLOCKING=1, the error names it."));
}

/// Enqueues a pass in `stream`, whose GPU must be the calling thread's current one and have all its
/// addresses, and returns at once. Throws Error with CUDA's reason if the kernel cannot start.
void RunOnGpu(const LayerPass& pass, cudaStream_t stream);

/// These enqueue the permutation of rows and states of walks in the same way.
void RunOnGpu(const PermuteJob& job, cudaStream_t stream);
void RunOnGpu(const WalkJob& job, cudaStream_t stream);

}  // namespace tandem
