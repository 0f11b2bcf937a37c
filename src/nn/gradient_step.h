// A training step: the loss of a batch, its gradients, and a step of the optimizer.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>

#include "config/config.h"
#include "nn/device.h"
#include "nn/network.h"

namespace tandem {

class FlatParameters;
class Optimizer;

/// GradientStep computes the loss of a batch and the gradients of all parameters of a network, by
/// which an optimizer then changes the parameters.
class GradientStep {
 public:
  /// What Step does with the gradients.
  struct Update {
    Optimizer& optimizer;  ///< the same one in every call
    double learning_rate;
    /// Returns the loss, and sets the gradients, of all ranks. Empty if this process trains alone.
    std::function<at::Tensor(const at::Tensor& loss)> reduce = {};
  };

  virtual ~GradientStep() = default;

  /// Lets the step and its optimizer share memory if the step needs that. Call once, before the
  /// first step. `optimizer` must have the parameters of the network.
  virtual void UseOptimizer(Optimizer& /*optimizer*/) {}

  /// Sets the gradients of the parameters to those of the mean loss of a batch (TrainingLoss), and
  /// returns the loss, on the device. `inputs` (n, positions) are bytes, `targets` (n, outputs) and
  /// `weights`, shaped like `targets` or undefined, are floats, all contiguous. The batch is taken
  /// in `train.accumulation_steps` parts, one after another. The parameters must have no gradients
  /// before, as after Optimizer::Step. The next call may overwrite the result. Checks `inputs`
  /// (CheckInputs).
  virtual at::Tensor SetGradients(const at::Tensor& inputs, const at::Tensor& targets,
                                  const at::Tensor& weights) = 0;

  /// Does a whole step: SetGradients, then the reduction and the step of the optimizer, which must
  /// have joined. Returns the loss, on the device, which the next call may overwrite.
  virtual at::Tensor Step(const at::Tensor& inputs, const at::Tensor& targets,
                          const at::Tensor& weights, const Update& update);

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
