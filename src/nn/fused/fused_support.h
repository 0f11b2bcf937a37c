// The networks and processors that the fused step (fused_step.h) and the fused copy (fused_copy.h)
// support.
#pragma once

#include <c10/core/Device.h>

#include <string>

#include "config/config.h"
#include "tandem/domain.h"

namespace tandem {

/// Says why the passes between the products of hidden layers (activation_passes.h, forward_pass.h)
/// cannot compute a network; empty if they can. The fused and the tensor step and copies need them.
std::string WhyNoPasses(const NetworkConfig& network);

/// Whether a fully connected network multiplies the activations of a hidden layer by a matrix of
/// another. A single hidden layer is gathered from the input.
bool HasHiddenProducts(const NetworkConfig& network);

/// Whether the fused step multiplies the one-hot input by the weights of the first layer, in bf16,
/// instead of adding up weights (GatherRows). `auto` multiplies if the processor has AMX and each
/// position of the input has fewer than 16 values.
bool MultipliesFirstLayer(const TrainingConfig& config, InputLayout input);

/// Says why the fused step cannot train a network on `device` in `precision`, or why the fused copy
/// cannot evaluate it; empty if they can.
std::string WhyNotFused(const NetworkConfig& network, Precision precision, c10::Device device);

}  // namespace tandem
