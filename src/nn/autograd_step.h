// The gradient step by LibTorch's operators and autograd, for every kind of network and device.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <optional>

#include "config/config.h"
#include "nn/gradient_step.h"
#include "nn/network.h"
#include "nn/resnet_fc.h"
#include "nn/training_loss.h"

namespace tandem {

/// AutogradStep is a GradientStep by the forward pass of a Network, which autograd differentiates.
/// In bf16, the forward pass runs under autocast.
class AutogradStep final : public GradientStep {
 public:
  /// `net` must be on `device` and outlive the step. Only the first layer of a ResNetFC can be
  /// gathered.
  AutogradStep(Network& net, const TrainingConfig& config, c10::Device device);

  at::Tensor SetGradients(const at::Tensor& inputs, const at::Tensor& targets,
                          const at::Tensor& weights) override;

 private:
  at::Tensor LossOfPart(std::int64_t part, const at::Tensor& inputs, const at::Tensor& targets,
                        const at::Tensor& weights);
  at::Tensor Loss(const at::Tensor& inputs, const at::Tensor& targets, const at::Tensor& weights);

  Network& net_;
  const c10::Device device_;
  const std::int64_t parts_;
  const bool bf16_;
  const TrainingLoss loss_;
  const OneHot one_hot_;
  std::optional<GatheredFeatures> gathered_;  // unset if the first layer is a product
  ResNetFC* resnet_ = nullptr;                // the network if its first layer is gathered
};

}  // namespace tandem
