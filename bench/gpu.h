// What the benchmarks of a GPU share.
#pragma once

#include <benchmark/benchmark.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <exception>
#include <memory>

#include "nn/device.h"

namespace tandem {

// One device for all benchmarks, because memory that was used on the stream of a device is kept for
// that stream. Never closed, because CUDA shuts down before static objects are destroyed. Throws
// InputError if there is no GPU.
inline Device& OpenGpu() {
  static Device& device = *OpenDevice("cuda").release();
  return device;
}

// Runs the body of a benchmark on the main stream of the GPU. If there is no GPU, or the body
// fails, skips the benchmark with the reason, so that the others still run.
template <class Body>
void OnGpu(benchmark::State& state, const Body& body) {
  try {
    Device& device = OpenGpu();
    // Other streams keep the memory of earlier benchmarks.
    c10::getDeviceAllocator(device.torch().type())->emptyCache();
    const std::unique_ptr<StreamScope> stream = device.MainStream()->Enter();
    body(device);
  } catch (const std::exception& error) {
    state.SkipWithError(error.what());
  }
}

}  // namespace tandem
