// Runs passes (device_pass.h) on a GPU. Part of libtandem_cuda; compiled only if nvcc was
// found.
#pragma once

#include <cuda_runtime_api.h>

#include "nn/tensors/pass_runner.h"

namespace tandem {

/// Enqueues a pass in `stream`, whose GPU must be the calling thread's current one, and returns at
/// once. All addresses of the pass are in that GPU's memory. Throws Error with CUDA's reason if the
/// kernel cannot start.
void RunOnGpu(const LayerPass& pass, cudaStream_t stream);

}  // namespace tandem
