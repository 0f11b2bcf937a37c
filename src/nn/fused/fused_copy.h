// The inference copy of ResNetFC that evaluates tile by tile on a CPU.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "config/config.h"
#include "nn/network.h"

namespace tandem {

/// Makes a copy of a ResNetFC that takes tiles of 64 rows through the whole network while they are
/// in the cache of one core, as the fused step (MakeFusedStep) does in training. The first layer is
/// gathered (GatheredFeatures). Batch normalisation is folded into the weights. Between two
/// products, one pass does the bias, the remaining kinds of normalisation, the residual connection
/// and the activation. Threads take tiles one after another, so a thread whose core is busy takes
/// fewer.
///
/// Precision: weights of products in fp32, in bf16, or in int8 with one scale for each unit. In
/// int8, each row of activations is rounded to 256 steps between its least and its greatest value.
/// Other sums and the output layer are in fp32. In bf16 and int8, the first layer's weights are
/// 16-bit whole numbers with one scale for each unit, as in efficiently updatable networks (NNUE;
/// Nasu, 2018), and the sums of a row are made from those of the row before where the two have most
/// of their input in common, as the children of a state often do. Whole numbers give the same sums
/// either way.
///
/// A row's outputs have the same bits in any batch, on any number of threads. WhyNotFused must be
/// empty.
std::unique_ptr<NetworkCopy> MakeFusedCopy(const NetworkSpec& spec, Precision precision);

}  // namespace tandem
