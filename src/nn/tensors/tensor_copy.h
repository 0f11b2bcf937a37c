// The inference copy of ResNetFC for a GPU.
#pragma once

#include <memory>

#include "nn/network.h"

namespace tandem {

class Device;

/// TensorCopy is an inference copy of ResNetFC by LibTorch's products and Tandem's own passes
/// between them (pass_runner.h). It computes what ResNetFCCopy does, apart from rounding, with
/// fewer passes over activations: a product adds the bias and applies ReLU, and one pass does the
/// normalisation, the residual connection and the activation. The input has zero features in front,
/// so that a product can read its rows at aligned addresses.
///
/// In fp8, the products between the first and the output layer are in e4m3. One scale for each
/// weight matrix maps its largest number to the largest one of the format, and one scale for each
/// layer's activations does so with room to spare (Micikevicius et al., "FP8 Formats for Deep
/// Learning", 2022). The scales of activations come from random inputs whenever the weights are
/// written, so the estimate of a row does not depend on other rows; larger activations become the
/// largest number. The pass that makes activations also rounds them. Widths are padded to multiples
/// of 16 with zeros. State has the weights in bf16, without padding.
///
/// `device` must outlive the copy, and WhyNoForward must be empty.
std::unique_ptr<NetworkCopy> MakeTensorCopy(const NetworkSpec& spec, const InferenceConfig& config,
                                            const Device& device);

}  // namespace tandem
