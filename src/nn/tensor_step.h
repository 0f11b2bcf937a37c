// The forward and the backward pass of resnet_fc on any device of LibTorch, without autograd.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "config/config.h"
#include "nn/device.h"
#include "nn/fused_step.h"
#include "nn/resnet_fc.h"

namespace tandem {

/// TensorStep is a FusedStep by LibTorch's products and Tandem's own passes between them
/// (pass_runner.h), in memory that it allocates once for a number of rows.
///
/// In bf16, activations, gradients of activations, and copies of the weights are in bf16. The
/// weights themselves, the output layer, statistics, sums and the gradients of parameters are in
/// fp32. The input has zero features in front, so that a product can read its rows at aligned
/// addresses. The weights of all layers, their gradients and their copies are each one block of
/// memory in the same order.
///
/// `train.step: captured` also makes a CUDA graph of the step on a GPU (Device::MakeRepeatedWork).
class TensorStep : public FusedStep {
 public:
  /// Enqueues a step of the optimizer. It may read the gradients and must set the parameters and
  /// `copies()`.
  using Update = std::function<void()>;

  /// Replaces the gradients by means over several processes, and returns the mean of `loss`.
  using Reduce = std::function<at::Tensor(const at::Tensor& loss)>;

  /// The room behind the last gradient in `gradients()`.
  static constexpr std::int64_t kRoomBehindGradients = 4;

  /// The memory of all parameters, which follow each other, and of their copies in bf16, which are
  /// undefined in fp32.
  virtual const at::Tensor& parameters() const = 0;
  virtual const at::Tensor& copies() const = 0;

  /// The memory of all gradients, in the order of the parameters, and of kRoomBehindGradients
  /// numbers behind them. TensorStep does not use those. GradientReducer exchanges other numbers
  /// with the gradients there.
  virtual const at::Tensor& gradients() const = 0;

  /// Does a whole step: SetGradients and then `update`, which becomes a part of the work that a
  /// GPU repeats and must be the same in every call. Returns the loss, on the device; the next call
  /// overwrites it. `update` must set `copies()`.
  virtual at::Tensor Step(const at::Tensor& inputs, const at::Tensor& targets,
                          const at::Tensor& weights, const Update& update) = 0;

  /// Does a step with `reduce` between the gradients and `update`. The gradients are lent to the
  /// parameters before. Only the computation of the gradients becomes work that a GPU repeats.
  /// Returns the result of `reduce`. `update` must set `copies()`.
  virtual at::Tensor ReducedStep(const at::Tensor& inputs, const at::Tensor& targets,
                                 const at::Tensor& weights, const Reduce& reduce,
                                 const Update& update) = 0;
};

/// Says why TensorStep cannot train a network on a device; empty if it can.
std::string WhyNoTensorStep(const NetworkConfig& network, const Device& device);

/// `net` and `device` must outlive the step, and WhyNoTensorStep must be empty. Moves the
/// parameters of `net` into one block of memory, as MakeFusedStep does.
std::unique_ptr<TensorStep> MakeTensorStep(ResNetFC& net, const TrainingConfig& config,
                                           Device& device);

}  // namespace tandem
