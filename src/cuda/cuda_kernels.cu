#include <algorithm>
#include <cstdint>

#include "cuda/cuda_kernels.h"

namespace tandem {

namespace {

// The most blocks that a launch may have in its second dimension. A pass with more takes several.
constexpr std::int64_t kMostBlocksInY = 65'535;

template <int V, class Pass>
__device__ void RunStages(const Pass& pass, std::int64_t first_y) {
  // A pass without stages that share memory needs none.
  __shared__ float shared[Pass::kStages > 1 ? kPassSharedFloats : 1];
  const PassThread thread{.block_x = blockIdx.x,
                          .block_y = first_y + blockIdx.y,
                          .row = static_cast<int>(threadIdx.y),
                          .lane = static_cast<int>(threadIdx.x)};
#pragma unroll
  for (int stage = 0; stage < Pass::kStages; ++stage) {
    if (stage > 0) __syncthreads();
    pass.template Run<V>(stage, thread, shared);
  }
}

template <int V, class Pass>
__global__ void __launch_bounds__(kThreadLanes* kThreadRows)
    AnyPass(const __grid_constant__ Pass pass, std::int64_t first_y) {
  RunStages<V>(pass, first_y);
}

// The compiler knows what a layer with ReLU has, which halves the instructions of a pass.
template <int V, class Pass, Norm kNorm, bool kSkip>
__global__ void __launch_bounds__(kThreadLanes* kThreadRows, 3)
    ReluLayer(const __grid_constant__ Pass pass, std::int64_t first_y) {
  Pass known = pass;
  auto& layer = known.rows_of_layer();
  layer.norm = kNorm;
  layer.activation = Activation::kRelu;
  layer.linear = false;
  if (!kSkip) layer.skip = nullptr;
  RunStages<V>(known, first_y);
}

template <class Pass>
concept ReadsLayer = requires(Pass pass) {
  pass.rows_of_layer();
};

template <class Pass>
using Kernel = void (*)(Pass, std::int64_t first_y);

template <int V, class Pass, Norm kNorm>
Kernel<Pass> ReluKernel(bool skip) {
  return skip ? ReluLayer<V, Pass, kNorm, true> : ReluLayer<V, Pass, kNorm, false>;
}

template <int V, class Pass>
Kernel<Pass> KernelFor(const Pass& pass) {
  if constexpr (ReadsLayer<Pass>) {
    Pass copy = pass;
    const auto& layer = copy.rows_of_layer();
    const bool is_relu = layer.activation == Activation::kRelu && !layer.linear;
    const bool skip = layer.skip != nullptr;
    if (is_relu && layer.norm == Norm::kBatch) return ReluKernel<V, Pass, Norm::kBatch>(skip);
    if (is_relu && layer.norm == Norm::kLayer) return ReluKernel<V, Pass, Norm::kLayer>(skip);
    if (is_relu && layer.norm == Norm::kNone) return ReluKernel<V, Pass, Norm::kNone>(skip);
  }
  return AnyPass<V, Pass>;
}

template <int V, class Pass>
void Launch(const Pass& pass, cudaStream_t stream) {
  const PassGrid grid = pass.grid();
  if (grid.x == 0) return;
  const Kernel<Pass> kernel = KernelFor<V>(pass);
  for (std::int64_t first_y = 0; first_y < grid.y; first_y += kMostBlocksInY) {
    const dim3 blocks(static_cast<unsigned>(grid.x),
                      static_cast<unsigned>(std::min(kMostBlocksInY, grid.y - first_y)));
    kernel<<<blocks, dim3(kThreadLanes, kThreadRows), 0, stream>>>(pass, first_y);
    CheckLaunch("a kernel of a network");
  }
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

namespace {

constexpr unsigned kThreads = 256;

__global__ void __launch_bounds__(kThreads) PermuteRows(const __grid_constant__ PermuteJob job) {
  __shared__ alignas(4) std::uint8_t shared[PermuteTile::kSharedBytes];
  const PermuteTile tile(job, blockIdx.x);
  tile.Load(threadIdx.x, kThreads, shared);
  __syncthreads();
  tile.Store(threadIdx.x, kThreads, shared);
}

__global__ void __launch_bounds__(kThreads) TakeWalks(const __grid_constant__ WalkJob job) {
  const std::int64_t byte = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (byte < job.rows * job.positions) job.Write(byte);
}

}  // namespace

void RunOnGpu(const PermuteJob& job, cudaStream_t stream) {
  if (job.rows == 0) return;
  const auto blocks = static_cast<unsigned>(PermuteTile::CountOf(job));
  PermuteRows<<<blocks, kThreads, 0, stream>>>(job);
  CheckLaunch("the kernel that permutes rows");
}

void RunOnGpu(const WalkJob& job, cudaStream_t stream) {
  const std::int64_t bytes = job.rows * job.positions;
  if (bytes == 0) return;
  TakeWalks<<<static_cast<unsigned>((bytes + kThreads - 1) / kThreads), kThreads, 0, stream>>>(job);
  CheckLaunch("the kernel that takes walks");
}

}  // namespace tandem
