// The functions through which libtandem_torch uses libtandem_cuda, which it opens only if a GPU may
// be used.
#pragma once

#include "nn/device.h"

namespace tandem {

inline constexpr const char* kCudaLibrary = "libtandem_cuda.so";
inline constexpr const char* kCountGpusSymbol = "tandem_count_gpus";
inline constexpr const char* kOpenCudaSymbol = "tandem_open_cuda";

/// Returns the number of GPUs that the driver offers.
using CountGpusFunction = int();

/// Opens GPU `index` and returns a device that the caller owns. Requires that the GPU exists.
using OpenCudaFunction = Device*(int index);

}  // namespace tandem
