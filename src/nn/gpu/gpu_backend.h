// The backend of ResNetFC for GPUs: a training step and an inference copy by LibTorch's products
// and Tandem's own passes between them (pass_runner.h), which a CPU runs too, for tests.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "config/config.h"
#include "nn/backend.h"
#include "nn/device.h"
#include "nn/network.h"
#include "nn/resnet_fc.h"

namespace tandem {

/// Makes a GradientStep by LibTorch's products and Tandem's own passes between them
/// (pass_runner.h), in memory that it allocates once for a number of rows.
///
/// In bf16, activations, their gradients, and copies of the weights are in bf16. The weights
/// themselves, the output layer, statistics, sums and the gradients of parameters are in fp32. The
/// input has zero features in front, so that products read its rows at aligned addresses.
///
/// Its optimizer also writes the copies of the weights, so it needs GradientStep::flat.
///
/// If `config.may_capture`, a GPU repeats the step as one CUDA graph (Device::CaptureWork). Without
/// a reduction, the step of the optimizer is a part of the graph.
///
/// `net` and `device` must outlive the step, and Backend::WhyNot must be empty. Moves the
/// parameters of `net` (FlatParameters).
std::unique_ptr<GradientStep> MakeTensorStep(ResNetFC& net, const TrainingConfig& config,
                                             Device& device);

/// TensorCopy is an inference copy of ResNetFC by LibTorch's products and Tandem's own passes
/// between them (pass_runner.h). A product adds the bias and applies ReLU, and one pass does the
/// normalisation, the residual connection and the activation. Its input is that of the step.
///
/// In fp8, the products between the first and the output layer are in e4m3. One scale for each
/// weight matrix maps its largest number to the largest one of the format, and one scale for each
/// layer's activations does so with room to spare (Micikevicius et al., "FP8 Formats for Deep
/// Learning", 2022). The scales of activations come from random inputs whenever the weights are
/// written, so the estimate of a row does not depend on other rows; larger activations become the
/// largest number. Widths are padded to multiples of 16 with zeros. State has the weights in bf16,
/// without padding.
///
/// `device` must outlive the copy, and Backend::WhyNot must be empty.
std::unique_ptr<NetworkCopy> MakeTensorCopy(const NetworkSpec& spec, const InferenceConfig& config,
                                            const Device& device);

/// Rows of the first product begin at addresses that are multiples of this many numbers.
inline constexpr std::int64_t kFeatureAlignment = 8;

/// Returns how many features of value 0 to put in front of `features`, so that rows are aligned.
inline std::int64_t PaddingBefore(std::int64_t features) {
  return -features & (kFeatureAlignment - 1);
}

/// Whether the product with the weights, and the bias, are all that a layer does.
inline bool IsProduct(const LayerShape& layer) { return layer.norm == Norm::kNone && layer.linear; }

/// Whether only a ReLU follows the product and the bias. LibTorch has one operator for these.
inline bool IsReluOfProduct(const LayerShape& layer, Activation activation) {
  return layer.norm == Norm::kNone && !layer.linear && !layer.adds_skip &&
         activation == Activation::kRelu;
}

/// The numbers of a tensor as a pass takes them; null if the tensor is undefined.
template <class T>
T* DataOrNull(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<T*>(tensor.data_ptr()) : nullptr;
}

}  // namespace tandem
