// The gradient step of ResNetFC on a CPU without autograd.
#pragma once

#include <memory>

#include "config/config.h"
#include "nn/gradient_step.h"
#include "nn/resnet_fc.h"

namespace tandem {

/// Makes a GradientStep that takes tiles of 64 rows through the whole network and back while they
/// are in the cache of one core.
///
/// LibTorch's operators each pass over all rows of a batch, and most of them do little with a
/// number that they load. Here, one pass over the tile between two products does the bias, the
/// normalisation, the residual connection and the activation, or all of their backward passes. The
/// products are oneDNN's kernels for small blocks (brgemm), which LibTorch exports. The first layer
/// is gathered (GatheredFeatures) unless MultipliesFirstLayer. The gradients of weights follow when
/// all tiles are done. With batch normalisation, which needs statistics of all rows, all tiles do
/// one layer before any does the next.
///
/// Which rows form a tile, and the order in which tiles and rows are added, depend on the number of
/// rows alone. The gradients therefore do not depend on the number of threads, nor on which thread
/// is faster. In bf16, activations, weights and the gradients of products are rounded to bf16, and
/// sums are in fp32; autograd also rounds the results of products and the gradients of weights.
///
/// The step runs on as many threads as LibTorch's operators (ScopedThreads). It allocates memory
/// only if a batch has more rows than any before. SetGradients throws Error if an input byte is
/// not below `depth`.
///
/// `net` must outlive the step, and WhyNotFused must be empty. Moves the parameters of `net`
/// (FlatParameters).
std::unique_ptr<GradientStep> MakeFusedStep(ResNetFC& net, const TrainingConfig& config);

}  // namespace tandem
