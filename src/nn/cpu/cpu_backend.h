// The backend of ResNetFC for CPUs: a training step and an inference copy that take a few rows at a
// time through the whole network.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <memory>
#include <optional>
#include <string>

#include "config/config.h"
#include "nn/backend.h"
#include "nn/network.h"
#include "nn/resnet_fc.h"
#include "tandem/domain.h"

namespace tandem {

/// Whether the fused step multiplies the one-hot input by the weights of the first layer, in bf16,
/// instead of adding up weights: if there is AMX, and each position has fewer than 16 values.
bool MultipliesFirstLayer(Precision precision, InputLayout input);

/// Says why the fused step cannot train a network on `device` in `precision`, or why the fused copy
/// cannot evaluate it; empty if they can.
std::string WhyNotFused(const NetworkConfig& network, Precision precision, c10::Device device);

/// Makes a GradientStep that takes tiles of 64 rows through the whole network and back while they
/// are in the cache of one core.
///
/// LibTorch's operators each pass over all rows of a batch, and most of them do little with a
/// number that they load. Here, one pass over the tile between two products does the bias, the
/// normalisation, the residual connection and the activation, or all of their backward passes. The
/// products are oneDNN's kernels for small blocks (brgemm). The first layer is gathered
/// (GatherRows) or, in bf16, multiplied: as `multiplies_first` says or, if it is unset, as
/// MultipliesFirstLayer does. The gradients of weights follow when all tiles are done. With batch
/// normalisation, which needs statistics of all rows, all tiles do one layer before any does the
/// next.
///
/// Which rows form a tile, and the order in which tiles and rows are added, depend on the number of
/// rows alone. The gradients therefore do not depend on the threads. In bf16, activations, weights
/// and the gradients of products are rounded to bf16, and sums are in fp32; autograd also rounds
/// the results of products and the gradients of weights.
///
/// The step runs on as many threads as LibTorch's operators (ScopedThreads). It allocates memory
/// only if a batch has more rows than any before.
///
/// `net` must outlive the step, and WhyNotFused must be empty. Moves its parameters
/// (FlatParameters).
std::unique_ptr<GradientStep> MakeFusedStep(ResNetFC& net, const TrainingConfig& config,
                                            std::optional<bool> multiplies_first = std::nullopt);

/// Makes a copy of a ResNetFC that takes tiles of 64 rows through the whole network, as
/// MakeFusedStep does in training. The first layer is gathered. Batch normalisation is folded into
/// the weights. Threads take tiles one after another, so one whose core is busy takes fewer.
///
/// Precision: weights of products in fp32, in bf16, or in int8 with one scale for each unit. In
/// int8, each row of activations is rounded to 256 steps between its least and its greatest value.
/// Other sums and the output layer are in fp32. In bf16 and int8, the first layer's weights are
/// 16-bit whole numbers with one scale for each unit, as in efficiently updatable networks (NNUE;
/// Nasu, 2018), and a row's sums are made from those of the row before where the two have most of
/// their input in common, as the children of a state often do.
///
/// A row's outputs have the same bits in any batch, on any threads. WhyNotFused must be empty.
std::unique_ptr<NetworkCopy> MakeFusedCopy(const NetworkSpec& spec, Precision precision);

}  // namespace tandem
