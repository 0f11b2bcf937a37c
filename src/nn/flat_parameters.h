// The parameters of a network and their gradients, each in one block of memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "nn/resnet_fc.h"

namespace tandem {

/// FlatParameters moves the parameters of a network into one block of memory, in which they follow
/// each other, so that one call of the optimizer steps all of them. Their gradients, and copies of
/// them in bf16, are blocks in the same order. The weights of the first layer are stored by
/// feature, so that they can be gathered. The parameters keep their names, shapes and values.
///
/// Features that are always 0 may be added in front of the others. Their weights lie in front of
/// each block (FirstWeights). They stay 0, because optimizers step only the parameters behind them.
class FlatParameters {
 public:
  /// The room behind the last gradient, for numbers that GradientReducer exchanges with the
  /// gradients.
  static constexpr std::int64_t kRoomBehindGradients = 4;

  enum class Copies { kNone, kBf16 };

  /// `net` must outlive the object and be on its device. Objects that keep addresses of parameters
  /// must be made later. The copies are not yet set.
  FlatParameters(const ResNetFC& net, Copies copies, std::int64_t padding);

  /// The parameters, and their copies, which are undefined without.
  const at::Tensor& values() const { return values_; }
  const at::Tensor& copies() const { return copies_; }

  /// The gradients, and kRoomBehindGradients numbers behind them.
  const at::Tensor& gradients() const { return gradients_; }

  /// Views of one of these blocks for each layer, in the order of ResNetFC::layers.
  std::vector<DenseTensors> ByLayer(const at::Tensor& block) const;

  /// A view of the weights of the first layer in a block, by feature: (padding + features, units).
  at::Tensor FirstWeights(const at::Tensor& block) const;

  /// Makes the views of the gradients those of the network's parameters (Tensor::grad).
  void AttachGradients() const;

  /// Rounds the parameters to the copies, if there are copies. An optimizer calls it after each
  /// step (Optimizer::UseFlat), unless it has written the copies together with the parameters.
  void SetCopies();

  /// Sets the copies if they have never been set, or if an operator of LibTorch has changed a
  /// parameter since, such as when a checkpoint is loaded. The steps of the optimizer do not count.
  void SetCopiesIfOld();

 private:
  std::vector<at::Tensor> ViewsOf(const at::Tensor& block) const;
  std::int64_t Versions() const;

  const ResNetFC& net_;
  const std::int64_t padding_;
  std::vector<at::Tensor> parameters_;  // of the network
  at::Tensor values_, gradients_, copies_;
  std::vector<at::Tensor> gradient_views_;
  std::int64_t copied_versions_ = -1;  // Versions when the copies were last set
};

}  // namespace tandem
