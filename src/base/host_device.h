// Marks plain C++ that nvcc also compiles for a GPU, so that a test can run the same code on a CPU.
#pragma once

#ifdef __CUDACC__
#define TANDEM_HOST_DEVICE __host__ __device__
#else
#define TANDEM_HOST_DEVICE
#endif

namespace tandem {

/// Reads memory that nothing writes meanwhile. A GPU keeps it in its read-only cache.
template <class T>
TANDEM_HOST_DEVICE inline T ReadOnly(const T* at) {
#ifdef __CUDA_ARCH__
  return __ldg(at);
#else
  return *at;
#endif
}

}  // namespace tandem
