// Adam and AdamW, with one fused kernel for all parameters.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "config/config.h"
#include "nn/resnet_fc.h"

namespace tandem {

/// Optimizer updates parameters by Adam (Kingma and Ba, "Adam", ICLR 2015) or AdamW (Loshchilov and
/// Hutter, "Decoupled Weight Decay Regularization", ICLR 2019). It uses LibTorch's fused kernels,
/// because a step of torch::optim takes three times as long.
class Optimizer {
 public:
  /// `parameters` are updated in place. They must all be on one device.
  Optimizer(std::vector<at::Tensor> parameters, const OptimizerConfig& config);

  /// Takes one step with the parameters' gradients and then clears the gradients. Throws Error if a
  /// parameter has no gradient.
  void Step(double learning_rate);

  /// The state that a checkpoint saves: the number of steps taken, and both running means of each
  /// parameter. `names[i]` is the name of parameter i. The tensors are not copies, so writing to
  /// them changes the optimizer.
  StateDict State(const std::vector<std::string>& names) const;

 private:
  OptimizerConfig config_;
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> mean_;
  std::vector<at::Tensor> mean_square_;
  at::Tensor steps_;  // () float, on the device; the same for all parameters
};

/// The learning rate of iteration `iteration`, which counts over the whole run. `done` is the
/// completed share of the schedule: 0 at the first iteration, 1 at the last (UpdatePlan::Done).
double LearningRate(const OptimizerConfig& config, std::int64_t iteration, double done);

}  // namespace tandem
