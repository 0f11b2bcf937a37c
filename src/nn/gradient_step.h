// The part of a training step before the optimizer: the loss of a batch and its gradients.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>

#include "config/config.h"
#include "nn/device.h"
#include "nn/network.h"

namespace tandem {

class FlatParameters;

/// GradientStep computes the loss of a batch and the gradients of all parameters of a network.
class GradientStep {
 public:
  virtual ~GradientStep() = default;

  /// Sets the gradients of the parameters to those of the mean loss of a batch (TrainingLoss), and
  /// returns the loss, on the device. `inputs` (n, positions) are bytes, `targets` (n, outputs) and
  /// `weights`, shaped like `targets` or undefined, are floats, all contiguous. The batch is taken
  /// in `train.accumulation_steps` parts, one after another. The parameters must have no gradients
  /// before, as after Optimizer::Step. The next call may overwrite the result. Checks `inputs`
  /// (CheckInputs).
  virtual at::Tensor SetGradients(const at::Tensor& inputs, const at::Tensor& targets,
                                  const at::Tensor& weights) = 0;

  /// The block into which the step moved the parameters, and that of the gradients that it sets;
  /// null if it moves none.
  virtual FlatParameters* flat() { return nullptr; }
};

/// Returns why `step` cannot train a network in `precision` on a device; empty if it can.
std::string WhyNoStep(TrainStep step, const NetworkConfig& network, Precision precision,
                      const Device& device);

/// Makes the step that `config.step` selects, which must not be `auto`. `net` and `device` must
/// outlive it, and `net` must be on the device. May move the parameters of `net` (FlatParameters),
/// so objects that keep addresses of parameters must be made later. Throws InputError if the step
/// does not support the network or the device.
std::unique_ptr<GradientStep> MakeGradientStep(Network& net, const TrainingConfig& config,
                                               Device& device);

}  // namespace tandem
