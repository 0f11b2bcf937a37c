#include "cuda/check_launch.h"
#include "cuda/cuda_permute.h"
#include "domain/permute_tile.h"

namespace tandem {
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

void Launch(const PermuteJob& job, cudaStream_t stream) {
  if (job.rows == 0) return;
  const auto blocks = static_cast<unsigned>(PermuteTile::CountOf(job));
  PermuteRows<<<blocks, kThreads, 0, stream>>>(job);
  CheckLaunch("the kernel that permutes rows");
}

}  // namespace

void CudaPermutations::Apply(Rows states, const Action* actions, cudaStream_t stream) const {
  Launch({.sources = sources_.data(),
          .positions = static_cast<std::uint32_t>(sources_.row_size()),
          .from = states.data(),
          .to = states.data(),
          .actions = actions,
          .rows = states.size(),
          .fan = 1},
         stream);
}

void CudaPermutations::Expand(ConstRows states, Rows children, cudaStream_t stream) const {
  Launch({.sources = sources_.data(),
          .positions = static_cast<std::uint32_t>(sources_.row_size()),
          .from = states.data(),
          .to = children.data(),
          .actions = nullptr,
          .rows = children.size(),
          .fan = static_cast<std::uint32_t>(sources_.size())},
         stream);
}

void CudaPermutations::Walk(const std::int32_t* actions, std::size_t walks,
                            const std::int64_t* places, Rows states, cudaStream_t stream) const {
  const std::size_t bytes = states.bytes().size();
  if (bytes == 0) return;
  const WalkJob job{.sources = sources_.data(),
                    .positions = static_cast<std::uint32_t>(sources_.row_size()),
                    .actions = actions,
                    .walks = static_cast<std::int64_t>(walks),
                    .places = places,
                    .rows = static_cast<std::int64_t>(states.size()),
                    .to = states.data()};
  TakeWalks<<<static_cast<unsigned>((bytes + kThreads - 1) / kThreads), kThreads, 0, stream>>>(job);
  CheckLaunch("the kernel that takes walks");
}

}  // namespace tandem
