// The optimizers, the learning-rate schedules, and the moving average of the weights.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
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
/// It uses LibTorch's fused kernels, because a step of torch::optim takes three times as long. A
/// captured step is one AdamPass.
class Optimizer {
 public:
  /// `parameters` are updated in place. All are on one device, in the order of a forward pass. If
  /// they were moved to `flat`, gradients must be there too (FlatParameters::AttachGradients), and
  /// each step also writes the copies, if there are any. `passes`, of the device, are needed for
  /// StepAtDeviceRate only. Both must outlive the optimizer.
  Optimizer(std::vector<at::Tensor> parameters, const OptimizerConfig& config,
            FlatParameters* flat = nullptr, const PassRunner* passes = nullptr);

  /// Takes one step with the parameters' gradients and clears them. Throws Error if one is missing.
  void Step(double learning_rate);

  /// Enqueues setting the rate of StepAtDeviceRate, outside the captured work.
  void SetDeviceRate(double learning_rate);

  /// Step at the learning rate of SetDeviceRate, which a GPU can capture (Device::CaptureWork),
  /// because it reads the rate from the device's memory. Requires `flat` and `passes`.
  void StepAtDeviceRate();

  /// Drops the parameters' gradients without a step.
  void ClearGradients();

  /// The state that a checkpoint saves: the number of steps taken, and both running means of each
  /// parameter. `names[i]` is the name of parameter i. The tensors are not copies, so writing to
  /// them changes the optimizer.
  StateDict State(const std::vector<std::string>& names) const;

 private:
  std::vector<at::Tensor> CheckedGradients() const;

  OptimizerConfig config_;
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> mean_, mean_square_;  // of each parameter
  at::Tensor steps_;                            // () float, on the device
  at::Tensor rate_;                             // () float, on the device; set by SetDeviceRate
  FlatParameters* flat_;                        // may be null
  const PassRunner* passes_;                    // may be null
};

/// SchedulePoint is a point of a run, as the learning-rate schedules see it.
struct SchedulePoint {
  std::int64_t iteration = 0;  ///< counts from the start of the run
  double done = 0;  ///< completed share: 0 at the first iteration, 1 at the last (UpdatePlan::Done)
};

/// The learning rate of the iteration at `point`.
double LearningRate(const OptimizerConfig& config, const SchedulePoint& point);

/// WeightAverage is an exponential moving average of the weights of a network, and of the running
/// statistics of batch normalisation. It copies tensors of whole numbers. Polyak and Juditsky
/// ("Acceleration of Stochastic Approximation by Averaging", 1992) average weights; many programs
/// use the exponential form, as Mean Teacher does (Tarvainen and Valpola, 2017).
class WeightAverage {
 public:
  /// Starts with the weights of `net`. `decay` is at least 0 and less than 1.
  WeightAverage(const Network& net, double decay);

  /// Adds the weights that `net` has after iteration `iteration`, which counts from 0 over the
  /// whole run: average = d * average + (1 - d) * weights. d is the smaller of `decay` and (1 +
  /// iteration) / (10 + iteration), so that the initial weights are forgotten soon; this is what
  /// TensorFlow's ExponentialMovingAverage does.
  void Add(const Network& net, std::int64_t iteration);

  /// The network with the averaged weights.
  const Network& net() const { return *net_; }

 private:
  std::unique_ptr<Network> net_;
  double decay_;
};

}  // namespace tandem
