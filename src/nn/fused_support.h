// The networks and processors that the fused step (fused_step.h) and the fused copy (fused_copy.h)
// support.
#pragma once

#include <c10/core/Device.h>

#include <string>

#include "config/config.h"

namespace tandem {

/// Whether a network of kind resnet_fc multiplies the activations of a hidden layer by a matrix of
/// another. A single hidden layer is gathered from the input.
bool HasHiddenProducts(const NetworkConfig& network);

/// Says why the fused step cannot train a network on `device` in `precision`, or why the fused copy
/// cannot evaluate it; empty if they can.
std::string WhyNotFused(const NetworkConfig& network, Precision precision, c10::Device device);

}  // namespace tandem
