// Permutes rows in GPU memory, using the same table as on the CPU (domain/permute.h). Part of
// libtandem_cuda; compiled only if nvcc was found.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

#include "domain/permute.h"

namespace tandem {

/// CudaPermutations holds a puzzle's permutations on the GPU that was current at construction.
///
/// Apply, Expand and Walk only enqueue work in `stream` and return at once. `stream` must belong to
/// that GPU. Any thread may call them if that GPU is its current one. Rows and actions must be in
/// that GPU's memory, packed, at any address. They and this object must stay valid until the work
/// is done.
class CudaPermutations {
 public:
  /// Copies the table to the GPU and waits until it is there. `table` is not needed afterwards.
  /// Throws Error with CUDA's reason on failure; so do the others if the kernel cannot start.
  explicit CudaPermutations(const PermutationTable& table);

  /// Applies actions[i] to row i of `states` (n rows of table.positions() bytes), in place.
  /// Requires actions[i] < table.num_actions().
  void Apply(Rows states, const Action* actions, cudaStream_t stream) const;

  /// Sets row i * num_actions + a of `children` to the result of action a on row i of `states`.
  /// `states` and `children` must not overlap.
  void Expand(ConstRows states, Rows children, cudaStream_t stream) const;

  /// Sets row i of `states` to the origins (OriginEncoding) after the first places[i] / walks
  /// actions of walk places[i] % walks. `actions` is (steps, walks), and each is less than
  /// table.num_actions(). Requires places[i] < (steps + 1) * walks.
  void Walk(const std::int32_t* actions, std::size_t walks, const std::int64_t* places, Rows states,
            cudaStream_t stream) const;

 private:
  struct Free {
    void operator()(std::uint8_t* memory) const;
  };

  std::uint32_t positions_;
  std::uint32_t num_actions_;
  std::unique_ptr<std::uint8_t, Free> sources_;  // (num_actions, positions), on the GPU
};

}  // namespace tandem
