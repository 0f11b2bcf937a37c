#include <string>

#include "nn/cuda_passes.h"
#include "tandem/error.h"

namespace tandem {
namespace {

template <int V, class Pass>
__global__ void __launch_bounds__(kThreadLanes* kThreadRows)
    RunPhases(const __grid_constant__ Pass pass) {
  // A pass without phases that share memory needs none.
  __shared__ float shared[Pass::kPhases > 1 ? kPassSharedFloats : 1];
  const PassThread thread{.block_x = blockIdx.x,
                          .block_y = blockIdx.y,
                          .row = static_cast<int>(threadIdx.y),
                          .lane = static_cast<int>(threadIdx.x)};
#pragma unroll
  for (int phase = 0; phase < Pass::kPhases; ++phase) {
    if (phase > 0) __syncthreads();
    pass.template Run<V>(phase, thread, shared);
  }
}

template <int V, class Pass>
void Launch(const Pass& pass, cudaStream_t stream) {
  const PassGrid grid = pass.grid();
  if (grid.x == 0 || grid.y == 0) return;
  const dim3 blocks(static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y));
  RunPhases<V, Pass><<<blocks, dim3(kThreadLanes, kThreadRows), 0, stream>>>(pass);
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return;
  throw Error(std::string("CUDA: starting a kernel of a training step: ") +
              cudaGetErrorString(error));
}

}  // namespace

void RunOnGpu(const LayerPass& pass, cudaStream_t stream) {
  std::visit(
      [stream](const auto& of_type) {
        if (of_type.aligned()) {
          Launch<kPassVector>(of_type, stream);
        } else {
          Launch<1>(of_type, stream);
        }
      },
      pass);
}

}  // namespace tandem
