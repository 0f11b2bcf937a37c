// How libtandem_torch finds libtandem_cuda, which it opens only where a GPU is wanted.
#pragma once

#include "nn/device.h"

namespace tandem {

inline constexpr const char* kCudaLibrary = "libtandem_cuda.so";
inline constexpr const char* kCountGpusSymbol = "tandem_count_gpus";
inline constexpr const char* kOpenCudaSymbol = "tandem_open_cuda";

/// How many GPUs the driver offers.
using CountGpusFunction = int();

/// Returns a device that the caller owns. Requires that there is a GPU of that index.
using OpenCudaFunction = Device*(int index);

}  // namespace tandem
