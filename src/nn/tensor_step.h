// The gradient step of ResNetFC on any device of LibTorch, without autograd.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>

#include "config/config.h"
#include "nn/device.h"
#include "nn/flat_parameters.h"
#include "nn/gradient_step.h"
#include "nn/resnet_fc.h"

namespace tandem {

/// TensorStep is a GradientStep by LibTorch's products and Tandem's own passes between them
/// (pass_runner.h), in memory that it allocates once for a number of rows.
///
/// In bf16, activations, gradients of activations, and copies of the weights are in bf16. The
/// weights themselves, the output layer, statistics, sums and the gradients of parameters are in
/// fp32. The input has zero features in front, so that a product can read its rows at aligned
/// addresses.
///
/// An optimizer of the parameters must use flat() (Optimizer::UseFlat), because it also has to
/// write their copies.
///
/// `train.step: captured` also makes a CUDA graph of the step on a GPU (Device::MakeRepeatedWork).
class TensorStep : public GradientStep {
 public:
  /// Enqueues a step of the optimizer, which may read the gradients.
  using Update = std::function<void()>;

  /// Does a whole step: SetGradients and then `update`, which becomes a part of the work that a
  /// GPU repeats and must be the same in every call. Returns the loss, on the device; the next call
  /// overwrites it.
  virtual at::Tensor Step(const at::Tensor& inputs, const at::Tensor& targets,
                          const at::Tensor& weights, const Update& update) = 0;
};

/// Says why TensorStep cannot train a network on a device; empty if it can.
std::string WhyNoTensorStep(const NetworkConfig& network, const Device& device);

/// `net` and `device` must outlive the step, and WhyNoTensorStep must be empty. Moves the
/// parameters of `net` (FlatParameters).
std::unique_ptr<TensorStep> MakeTensorStep(ResNetFC& net, const TrainingConfig& config,
                                           Device& device);

}  // namespace tandem
