// The optimizers and the learning-rate schedules.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "config/config.h"
#include "nn/network.h"

namespace tandem {

class FlatParameters;
class PassRunner;

/// Optimizer updates parameters by AdamW (Loshchilov and Hutter, "Decoupled Weight Decay
/// Regularization", ICLR 2019), which without weight decay is Adam (Kingma and Ba, ICLR 2015).
///
/// It uses LibTorch's fused kernels, because a step of torch::optim takes three times as long.
/// After UseFlat, a captured step is one AdamPass.
class Optimizer {
 public:
  /// `parameters` are updated in place. They must all be on one device, in the order in which a
  /// forward pass uses them.
  Optimizer(std::vector<at::Tensor> parameters, const OptimizerConfig& config);

  /// Takes one step with the parameters' gradients and then clears the gradients. Throws Error if a
  /// parameter has no gradient.
  void Step(double learning_rate);

  /// Makes each step also write the copies of the parameters, if there are any. `flat` must have
  /// the parameters of this optimizer. `flat` and `passes`, of their device, must outlive it.
  void UseFlat(FlatParameters& flat, const PassRunner& passes);

  /// Enqueues setting the learning rate of StepAtDeviceRate. Not a part of the captured work.
  /// Requires UseFlat.
  void SetDeviceRate(double learning_rate);

  /// Step at the learning rate of SetDeviceRate, which a GPU can capture (Device::CaptureWork),
  /// because it reads the rate from the device's memory.
  void StepAtDeviceRate();

  /// Drops the parameters' gradients without a step.
  void ClearGradients();

  /// The state that a checkpoint saves: the number of steps taken, and both running means of each
  /// parameter. `names[i]` is the name of parameter i. The tensors are not copies, so writing to
  /// them changes the optimizer.
  StateDict State(const std::vector<std::string>& names) const;

 private:
  void JoinMeans();
  std::vector<at::Tensor> CheckedGradients() const;
  // `Rate` is double, or a tensor on the device.
  template <class Rate>
  void StepAdam(const std::vector<at::Tensor>& gradients, const Rate& learning_rate) const;
  bool TryStepAtOnce(const std::vector<at::Tensor>& gradients) const;

  OptimizerConfig config_;
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> mean_, mean_square_;  // of each parameter
  at::Tensor steps_;                            // () float, on the device
  at::Tensor rate_;                             // () float, on the device; set by SetDeviceRate
  FlatParameters* flat_ = nullptr;              // null until UseFlat
  const PassRunner* passes_ = nullptr;          // null until UseFlat
};

/// SchedulePoint is a point of a run, as the learning-rate schedules see it.
struct SchedulePoint {
  std::int64_t iteration = 0;  ///< counts from the start of the run
  double done = 0;  ///< completed share: 0 at the first iteration, 1 at the last (UpdatePlan::Done)
};

/// The learning rate of the iteration at `point`.
double LearningRate(const OptimizerConfig& config, const SchedulePoint& point);

}  // namespace tandem
