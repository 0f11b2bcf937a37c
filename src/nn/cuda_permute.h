// Permutes rows in a GPU's memory, from the table by which a CPU does (domain/permute.h). Needs
// nvcc; in libtandem_cuda.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

#include "domain/permute.h"

namespace tandem {

/// A puzzle's permutations on the GPU that was current when it was made.
///
/// Work is only put into `stream`, which is of that GPU, and runs behind what is in it already; the
/// calls return at once and may come from any thread, in which that GPU is current. Rows and
/// actions are in its memory, at any address, packed, and stay valid until the work is done; so
/// does this object.
class CudaPermutations {
 public:
  /// Copies the table to the GPU and waits for that. `table` is not needed afterwards. Throws Error
  /// with CUDA's reason, as all methods do where the work cannot be started.
  explicit CudaPermutations(const PermutationTable& table);

  /// Applies actions[i] to row i of `states` (n rows of table.positions() bytes), in place. Every
  /// action is below table.num_actions().
  void Apply(Rows states, const Action* actions, cudaStream_t stream) const;

  /// Row i * num_actions + a of `children` becomes action a applied to row i of `states`. The two
  /// do not overlap.
  void Expand(ConstRows states, Rows children, cudaStream_t stream) const;

 private:
  struct Free {
    void operator()(std::uint8_t* memory) const;
  };

  std::uint32_t positions_;
  std::uint32_t num_actions_;
  std::unique_ptr<std::uint8_t, Free> sources_;  // on the GPU, by action
};

}  // namespace tandem
