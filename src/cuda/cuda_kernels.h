// The kernels of Tandem: passes of networks (device_pass.h), and permutations of rows by the same
// table as on the CPU (domain/permute.h). Part of libtandem_cuda; compiled only if nvcc was found.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "nn/gpu/pass_runner.h"
#include "tandem/domain.h"
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

/// Enqueues a pass in `stream`, whose GPU must be the calling thread's current one, and returns at
/// once. All addresses of the pass are in that GPU's memory. Throws Error with CUDA's reason if the
/// kernel cannot start.
void RunOnGpu(const LayerPass& pass, cudaStream_t stream);

/// CudaPermutations applies a puzzle's permutations to rows in the memory of a GPU.
///
/// Apply, Expand and Walk only enqueue work in `stream` and return at once. `stream` must belong to
/// that GPU. Any thread may call them if that GPU is its current one. Rows and actions must be in
/// that GPU's memory, packed, at any address. They and `sources` must stay valid until the work is
/// done. Throw Error with CUDA's reason if the kernel cannot start.
class CudaPermutations {
 public:
  /// Row a of `sources`, in the GPU's memory, has the position that each byte comes from if action
  /// a is applied.
  explicit CudaPermutations(ConstRows sources) : sources_(sources) {}

  /// Applies actions[i] to row i of `states` (n rows of as many bytes as `sources` has), in place.
  /// Requires actions[i] < num_actions, the number of rows of `sources`.
  void Apply(Rows states, const Action* actions, cudaStream_t stream) const;

  /// Sets row i * num_actions + a of `children` to the result of action a on row i of `states`.
  /// `states` and `children` must not overlap.
  void Expand(ConstRows states, Rows children, cudaStream_t stream) const;

  /// Sets row i of `states` to the origins (OriginEncoding) after the first places[i] / walks
  /// actions of walk places[i] % walks. `actions` is (steps, walks), and each is less than
  /// num_actions. Requires places[i] < (steps + 1) * walks.
  void Walk(const std::int32_t* actions, std::size_t walks, const std::int64_t* places, Rows states,
            cudaStream_t stream) const;

 private:
  ConstRows sources_;
};

}  // namespace tandem
