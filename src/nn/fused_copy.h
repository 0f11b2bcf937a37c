// The inference copy of ResNetFC that evaluates tile by tile on a CPU.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <memory>

#include "config/config.h"
#include "nn/network.h"

namespace tandem {

/// Whether `inference.forward` selects the copy that MakeFusedCopy makes. Throws InputError if it
/// must, but WhyNotFused says that it cannot.
bool UsesFusedCopy(const NetworkSpec& spec, const InferenceConfig& config, c10::Device device);

/// Makes a copy of a ResNetFC that takes tiles of 64 rows through the whole network while they are
/// in the cache of one core, as FusedStep does in training. The first layer is gathered
/// (GatheredFeatures). Batch normalisation is folded into the weights. Between two products, one
/// pass does the bias, the remaining kinds of normalisation, the residual connection and the
/// activation. Threads take tiles one after another, so a thread whose core is busy takes fewer.
///
/// Precision: weights of products in fp32, in bf16, or in int8 with one scale for each unit. In
/// int8, each row of activations is rounded to 256 steps between its least and its greatest value;
/// the first layer is in bf16. Sums and the output layer are in fp32.
///
/// A row's outputs have the same bits in any batch, on any number of threads.
std::unique_ptr<NetworkCopy> MakeFusedCopy(const NetworkSpec& spec, Precision precision);

}  // namespace tandem
