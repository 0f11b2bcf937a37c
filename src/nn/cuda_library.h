// How libtandem_torch finds libtandem_cuda, which it opens only where a GPU is wanted.
#pragma once

#include <string>

#include "nn/device.h"

namespace tandem {

inline constexpr const char* kCudaLibrary = "libtandem_cuda.so";
inline constexpr const char* kOpenCudaSymbol = "tandem_open_cuda";

/// Returns a device that the caller owns, or null with the reason in `missing`.
using OpenCudaFunction = Device*(int index, std::string& missing);

}  // namespace tandem
