// The number of floating-point operations that a network needs, and the machine's rate.
#pragma once

#include "nn/device.h"
#include "nn/resnet_fc.h"

namespace tandem {

/// The floating-point operations of the matrix products that evaluate one row: a multiplication and
/// an addition for each weight of the linear layers.
double EvaluationFlop(const NetworkSpec& spec);

/// The floating-point operations of the matrix products that train on one row: the forward pass,
/// the gradients of the weights, and the gradients of each layer's inputs except the first layer's.
double TrainingFlop(const NetworkSpec& spec);

/// Measures the rate of a product of large square matrices on `device`, in floating-point
/// operations per second: the best of several products, in bf16 or fp32, with `threads` CPU
/// threads. Takes about 0.1 s. Throws LibTorch's exception if there is not enough memory.
double MeasureProductRate(Device& device, bool bf16, int threads);

}  // namespace tandem
