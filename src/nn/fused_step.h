// The forward and the backward pass of resnet_fc on a CPU without autograd.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "nn/resnet_fc.h"

namespace tandem {

/// FusedStep computes the loss of a batch and the gradients of all parameters of a ResNetFC.
///
/// LibTorch's operators each pass over all rows of a batch, and most of them do little with a
/// number that they load. FusedStep takes a tile of 64 rows through the whole network and back
/// while it is in the cache of one core. Between two products, one pass over the tile does the
/// bias, the normalisation, the residual connection and the activation, or all of their backward
/// passes. The products are oneDNN's kernels for small blocks (brgemm), which LibTorch exports. The
/// first layer is gathered (GatheredFeatures). The gradients of weights follow when all tiles are
/// done. With batch normalisation, which needs statistics of all rows, all tiles do one layer
/// before any does the next.
///
/// Which rows form a tile, and the order in which tiles and rows are added, depend on the number of
/// rows alone. The gradients therefore do not depend on the number of threads, nor on which thread
/// is faster. In bf16, activations, weights and the gradients of products are rounded to bf16, and
/// sums are in fp32; autograd also rounds the results of products and the gradients of weights.
class FusedStep {
 public:
  virtual ~FusedStep() = default;

  /// Sets the gradients of the parameters to those of the mean loss of a batch, as TorchTrainer
  /// defines it, and returns the loss. `inputs` (n, positions) are bytes, `targets` (n, outputs)
  /// and `weights`, shaped like `targets` or undefined, are floats, all contiguous. Runs on as many
  /// threads as LibTorch's operators (ScopedThreads). Allocates memory only if n grows. The next
  /// call overwrites the result. Throws Error if a byte of the input is no valid value.
  virtual at::Tensor SetGradients(const at::Tensor& inputs, const at::Tensor& targets,
                                  const at::Tensor& weights) = 0;
};

/// Returns views of `flat`, one block of memory, shaped like `parameters` and in their order. Those
/// of the first parameter, the weights of the first layer, are stored by feature, so that they can
/// be gathered.
std::vector<at::Tensor> ViewsOf(const at::Tensor& flat, const std::vector<at::Tensor>& parameters);

/// Whether a network of kind resnet_fc multiplies the activations of a hidden layer by a matrix of
/// another. A single hidden layer is gathered from the input.
bool HasHiddenProducts(const NetworkConfig& network);

/// Says why FusedStep cannot train a network on `device` in `precision`; empty if it can.
std::string WhyNotFused(const NetworkConfig& network, Precision precision, c10::Device device);

/// `net` must outlive the step, and WhyNotFused must be empty. Moves the parameters of `net` into
/// one block of memory, so objects that keep addresses of parameters must be made later. They keep
/// their names, shapes and values.
std::unique_ptr<FusedStep> MakeFusedStep(ResNetFC& net, const TrainingConfig& config);

}  // namespace tandem
