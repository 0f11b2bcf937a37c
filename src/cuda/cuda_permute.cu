#include <string>
#include <vector>

#include "cuda/cuda_permute.h"
#include "domain/permute_tile.h"
#include "domain/walk_job.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr unsigned kThreads = 256;

void Check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  throw Error(std::string("CUDA: ") + what + ": " + cudaGetErrorString(error));
}

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
  Check(cudaGetLastError(), "starting the kernel that permutes rows");
}

}  // namespace

void CudaPermutations::Free::operator()(std::uint8_t* memory) const { cudaFree(memory); }

CudaPermutations::CudaPermutations(const PermutationTable& table)
    : positions_(static_cast<std::uint32_t>(table.positions())),
      num_actions_(static_cast<std::uint32_t>(table.num_actions())) {
  std::vector<std::uint8_t> sources;
  for (std::size_t action = 0; action < table.num_actions(); ++action) {
    const auto of_action = table.sources(static_cast<Action>(action));
    sources.insert(sources.end(), of_action.begin(), of_action.end());
  }
  void* memory = nullptr;
  Check(cudaMalloc(&memory, sources.size()), "allocating memory for permutations");
  sources_.reset(static_cast<std::uint8_t*>(memory));
  Check(cudaMemcpy(memory, sources.data(), sources.size(), cudaMemcpyHostToDevice),
        "copying permutations");
  // cudaMemcpy may return before the copy has finished, and other streams do not wait for it.
  Check(cudaDeviceSynchronize(), "copying permutations");
}

void CudaPermutations::Apply(Rows states, const Action* actions, cudaStream_t stream) const {
  Launch({.sources = sources_.get(),
          .positions = positions_,
          .from = states.data(),
          .to = states.data(),
          .actions = actions,
          .rows = states.size(),
          .fan = 1},
         stream);
}

void CudaPermutations::Expand(ConstRows states, Rows children, cudaStream_t stream) const {
  Launch({.sources = sources_.get(),
          .positions = positions_,
          .from = states.data(),
          .to = children.data(),
          .actions = nullptr,
          .rows = children.size(),
          .fan = num_actions_},
         stream);
}

void CudaPermutations::Walk(const std::int32_t* actions, std::size_t walks,
                            const std::int64_t* places, Rows states, cudaStream_t stream) const {
  const std::size_t bytes = states.size() * positions_;
  if (bytes == 0) return;
  const WalkJob job{.sources = sources_.get(),
                    .positions = positions_,
                    .actions = actions,
                    .walks = static_cast<std::int64_t>(walks),
                    .places = places,
                    .rows = static_cast<std::int64_t>(states.size()),
                    .to = states.data()};
  TakeWalks<<<static_cast<unsigned>((bytes + kThreads - 1) / kThreads), kThreads, 0, stream>>>(job);
  Check(cudaGetLastError(), "starting the kernel that walks");
}

}  // namespace tandem
