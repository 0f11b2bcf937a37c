// The mean of the ranks' gradients.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "nn/device.h"
#include "nn/network.h"
#include "ranks/ranks.h"

namespace tandem {

/// GradientReducer makes the ranks take the same optimizer steps: it replaces the gradients and the
/// loss of a rank's batch by those of the rows of all ranks. One exchange for each step carries the
/// gradients, the loss, the weight of the rows, and the votes of AgreedStop. It begins when the
/// backward pass is complete.
///
/// The gradients lie in one block of memory, so that one call of the optimizer steps them.
///
/// The host does not wait for the exchange. It reads the votes of a step in the next step, so a GPU
/// always has work. All ranks read the same votes in the same step.
class GradientReducer {
 public:
  /// All must outlive this object.
  GradientReducer(Ranks& ranks, AgreedStop& stop, Device& device);

  int size() const { return ranks_.size(); }

  /// Lets Reduce exchange the gradients in their own memory, without a copy: `block` is
  /// FlatParameters::gradients(), and the gradients must be there in each call.
  void ReduceInPlace(const at::Tensor& block);

  /// Call after the backward pass of each batch. First calls DecideStop. `loss` () and the
  /// gradients of `parameters` are means over the rank's rows, or means weighted by `weights`,
  /// which is undefined if all rows count equally. Sets the gradients to the means over the rows of
  /// all ranks and returns the mean loss. Both are valid until the next call.
  at::Tensor Reduce(const at::Tensor& loss, const at::Tensor& weights,
                    const std::vector<at::Tensor>& parameters);

  /// Waits for the last exchange and decides by its votes whether all ranks stop. Does nothing if
  /// that was decided. Call it after the last step of an update, where all ranks do.
  void DecideStop();

  /// Replaces the buffers of `net`, such as the running statistics of batch normalisation, by their
  /// means over all ranks. Whole numbers, such as the number of batches, are equal and stay.
  void AverageBuffers(const Network& net);

 private:
  void Allocate(const std::vector<at::Tensor>& parameters);
  void CopyGradients(const std::vector<at::Tensor>& parameters);

  Ranks& ranks_;
  AgreedStop& stop_;
  at::Tensor flat_;                // (gradients + kExtras), on the device
  bool in_place_ = false;          // flat_ is the memory of the gradients
  std::vector<at::Tensor> views_;  // of flat_, shaped like the parameters; unless in_place_
  const std::unique_ptr<ResultSlot> votes_;  // of the last exchange
  bool undecided_ = false;                   // votes_ has votes by which nothing was decided
};

}  // namespace tandem
