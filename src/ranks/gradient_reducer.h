// The mean of the ranks' gradients.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "nn/network.h"
#include "ranks/agreed_stop.h"
#include "ranks/ranks.h"

namespace tandem {

/// `GradientReducer` makes the ranks take the same optimizer steps: it replaces the gradients and
/// the loss of a rank's batch by those of the rows of all ranks. One exchange for each step carries
/// the gradients, the loss, the weight of the rows, and the votes of AgreedStop.
///
/// The gradients lie in one block of memory, so the optimizer steps them with one call if the
/// parameters do too. A step's exchange begins when the backward pass is complete.
class GradientReducer {
 public:
  /// Both must outlive this object.
  GradientReducer(Ranks& ranks, AgreedStop& stop) : ranks_(ranks), stop_(stop) {}

  int size() const { return ranks_.size(); }

  /// Call after the backward pass of each batch. `loss` () and the gradients of `parameters` are
  /// means over the rank's rows, or means weighted by `weights`, which is undefined if all rows
  /// count equally. Sets the gradients to the means over the rows of all ranks, until the next
  /// call, and returns the mean loss. Then decides whether all ranks stop.
  at::Tensor Reduce(const at::Tensor& loss, const at::Tensor& weights,
                    const std::vector<at::Tensor>& parameters);

  /// Replaces the buffers of `net`, such as the running statistics of batch normalisation, by their
  /// means over all ranks. Whole numbers, such as the number of batches, are equal and stay.
  void AverageBuffers(const Network& net);

 private:
  void Allocate(const std::vector<at::Tensor>& parameters);

  Ranks& ranks_;
  AgreedStop& stop_;
  at::Tensor flat_;                // (gradients + kExtras), on the device
  std::vector<at::Tensor> views_;  // of flat_, shaped like the parameters
};

}  // namespace tandem
