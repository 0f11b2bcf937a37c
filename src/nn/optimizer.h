// Adam and AdamW, one fused kernel for all parameters.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "config/train_config.h"
#include "nn/resnet_fc.h"

namespace tandem {

/// Kingma and Ba, "Adam", ICLR 2015; Loshchilov and Hutter, "Decoupled Weight Decay
/// Regularization", ICLR 2019. torch::optim's step takes three times as long.
class Optimizer {
 public:
  /// `parameters` are updated in place; all on one device.
  Optimizer(std::vector<at::Tensor> parameters, const OptimizerConfig& config);

  /// One step against the gradients at this learning rate, which then are gone. A parameter that
  /// got no gradient is an Error.
  void Step(double learning_rate);

  /// What a checkpoint keeps: the number of steps taken, and the means for each parameter, which
  /// has the name `names[i]`. The tensors are the optimiser's own.
  StateDict State(const std::vector<std::string>& names) const;

 private:
  OptimizerConfig config_;
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> mean_;
  std::vector<at::Tensor> mean_square_;
  at::Tensor steps_;  // () float, on the device: the same for all parameters
};

/// The learning rate of an iteration, counted over the whole run, at which the share `done` of the
/// schedule is over: 0 at the first iteration, 1 at the last (UpdatePlan::Done).
double LearningRate(const OptimizerConfig& config, std::int64_t iteration, double done);

}  // namespace tandem
