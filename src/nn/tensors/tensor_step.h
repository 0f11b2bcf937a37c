// The gradient step of ResNetFC on any device of LibTorch, without autograd.
#pragma once

#include <memory>
#include <string>

#include "config/config.h"
#include "nn/device.h"
#include "nn/gradient_step.h"
#include "nn/resnet_fc.h"

namespace tandem {

/// Says why MakeTensorStep cannot train a network on a device; empty if it can.
std::string WhyNoTensorStep(const NetworkConfig& network, const Device& device);

/// Makes a GradientStep by LibTorch's products and Tandem's own passes between them
/// (pass_runner.h), in memory that it allocates once for a number of rows.
///
/// In bf16, activations, gradients of activations, and copies of the weights are in bf16. The
/// weights themselves, the output layer, statistics, sums and the gradients of parameters are in
/// fp32. The input has zero features in front, so that a product can read its rows at aligned
/// addresses.
///
/// Its optimizer also writes the copies of the weights, so it must be given to UseOptimizer, also
/// if only SetGradients is called.
///
/// `train.step: captured` also makes a CUDA graph of the step on a GPU (Device::CaptureWork).
/// If there is no reduction, the step of the optimizer is a part of the graph.
///
/// `net` and `device` must outlive the step, and WhyNoTensorStep must be empty. Moves the
/// parameters of `net` (FlatParameters).
std::unique_ptr<GradientStep> MakeTensorStep(ResNetFC& net, const TrainingConfig& config,
                                             Device& device);

}  // namespace tandem
