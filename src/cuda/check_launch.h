// Reports why a kernel could not start. Part of libtandem_cuda.
#pragma once

#include <cuda_runtime_api.h>

#include <string>
#include <string_view>

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

}  // namespace tandem
