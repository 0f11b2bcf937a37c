// The inference copy of resnet_fc for a GPU.
#pragma once

#include <memory>

#include "nn/network.h"

namespace tandem {

class Device;

/// TensorCopy is an inference copy of resnet_fc by LibTorch's products and Tandem's own passes
/// between them (pass_runner.h). It computes what ResNetFCCopy does, apart from rounding, with
/// fewer passes over activations: a product adds the bias and applies ReLU, and one pass does the
/// normalisation, the residual connection and the activation. The input has zero features in front,
/// so that a product can read its rows at aligned addresses.
///
/// In fp8, the products between the first and the output layer are in e4m3. One scale for each
/// weight matrix and for each batch of activations maps the largest number to the largest one of
/// the format (Micikevicius et al., "FP8 Formats for Deep Learning", 2022). The pass that makes the
/// activations finds the largest, and another pass scales and rounds. The estimate of a row
/// therefore depends on the other rows of its batch. State has these weights in bf16; the copy
/// makes their numbers in e4m3 whenever they are written.
///
/// `device` must outlive the copy. Throws InputError if the device cannot do it.
std::unique_ptr<NetworkCopy> MakeTensorCopy(const NetworkSpec& spec, const InferenceConfig& config,
                                            const Device& device);

}  // namespace tandem
