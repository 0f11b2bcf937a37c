// The backend of every network on every device: LibTorch's operators and autograd.
#pragma once

#include <c10/core/Device.h>

#include <memory>

#include "nn/backend.h"
#include "nn/network.h"

namespace tandem {

/// Whether the reference backend gathers the first layer of a ResNetFC (GatheredFeatures) in
/// training and in inference on `device`. The number of values of a position is the number of
/// multiplications that an addition of a gathered row replaces. On a CPU, gathering is faster from
/// 16 values in training, and from 4 in inference, which has no backward pass. With fewer, a
/// product is often faster, because it reads each weight once for many rows.
bool GathersInTraining(InputLayout layout, c10::Device device);
bool GathersInInference(InputLayout layout, c10::Device device);

/// Makes a step by the forward pass of a Network, which autograd differentiates. In bf16, the
/// forward pass runs under autocast. `net` must be on `device` and outlive the step. `gathers` says
/// whether the first layer is gathered, which only a ResNetFC can do.
std::unique_ptr<GradientStep> MakeAutogradStep(Network& net, const TrainingConfig& config,
                                               c10::Device device, bool gathers);

/// Makes an inference copy of a ResNetFC by LibTorch's operators, in fp32 or bf16 (FoldedLayers).
std::unique_ptr<NetworkCopy> MakeOperatorCopy(const NetworkSpec& spec,
                                              const InferenceConfig& config, c10::Device device,
                                              bool gathers);

}  // namespace tandem
