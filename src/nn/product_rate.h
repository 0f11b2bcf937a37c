// How much a network multiplies, and how fast the machine can.
#pragma once

#include "nn/device.h"
#include "nn/resnet_fc.h"

namespace tandem {

/// Floating-point operations of the matrix products that evaluate one row: a multiplication and an
/// addition for each weight of the linear layers.
double EvaluationFlop(const NetworkSpec& spec);

/// Floating-point operations of the matrix products that train on one row: the forward pass, the
/// gradients of the weights, and those of each layer's inputs. The first layer's inputs need none.
double TrainingFlop(const NetworkSpec& spec);

/// The rate of a product of large square matrices on `device`, in operations a second: the best of
/// several, in bf16 or fp32, on `threads` CPU threads. Takes about 0.1 s. Throws what LibTorch
/// throws if memory runs out.
double MeasureProductRate(Device& device, bool bf16, int threads);

}  // namespace tandem
