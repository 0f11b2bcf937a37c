// The optimizers and the learning-rate schedules.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "config/config.h"
#include "nn/network.h"

namespace tandem {

/// Optimizer updates parameters by the method that `optimizer.name` selects:
///
/// - Adam (Kingma and Ba, "Adam", ICLR 2015) or AdamW (Loshchilov and Hutter, "Decoupled Weight
///   Decay Regularization", ICLR 2019)
/// - SGD with momentum, as torch.optim.SGD computes it
/// - Muon (Jordan, "Muon: An optimizer for hidden layers in neural networks", 2024,
///   https://kellerjordan.github.io/posts/muon/) for the hidden matrices, and AdamW for all other
///   parameters. The hidden matrices are the parameters with two dimensions, except the first and
///   the last of them, which are the weights of the input layer and of the output layer.
///
/// Adam and SGD use LibTorch's fused kernels, because a step of torch::optim takes three times as
/// long.
class Optimizer {
 public:
  /// `parameters` are updated in place. They must all be on one device, in the order in which a
  /// forward pass uses them.
  Optimizer(std::vector<at::Tensor> parameters, const OptimizerConfig& config);

  /// Takes one step with the parameters' gradients and then clears the gradients. Muon's own
  /// learning rate is scaled by `learning_rate` / `optimizer.learning_rate`. Throws Error if a
  /// parameter has no gradient.
  void Step(double learning_rate);

  /// Drops the parameters' gradients without a step.
  void ClearGradients();

  /// The state that a checkpoint saves. With Adam or AdamW: the number of steps taken, and both
  /// running means of each parameter. With SGD: the momentum of each parameter. With Muon: each
  /// parameter's part of the two. `names[i]` is the name of parameter i. The tensors are not
  /// copies, so writing to them changes the optimizer.
  StateDict State(const std::vector<std::string>& names) const;

 private:
  // The parameters that one method updates, by their numbers, and their running means.
  struct AdamGroup {
    std::vector<std::size_t> numbers;
    std::vector<at::Tensor> parameters, mean, mean_square;
    at::Tensor steps;  // () float, on the device; the same for all parameters
  };
  struct MomentumGroup {
    std::vector<std::size_t> numbers;
    std::vector<at::Tensor> parameters, momentum;
  };

  void AddToAdam(std::size_t number);
  void AddToMomentum(std::size_t number);
  void StepAdam(const std::vector<at::Tensor>& gradients, double learning_rate) const;
  void StepSgd(const std::vector<at::Tensor>& gradients, double learning_rate) const;
  void StepMuon(const std::vector<at::Tensor>& gradients, double learning_rate);

  OptimizerConfig config_;
  std::vector<at::Tensor> parameters_;
  AdamGroup adam_;
  MomentumGroup momentum_;
};

/// Returns a matrix with about the singular vectors of `matrix` (n, m) and singular values near 1,
/// by five Newton-Schulz iterations with the coefficients of Muon's author. The singular values of
/// the result lie between about 0.7 and 1.2, unless those of `matrix` differ by orders of
/// magnitude.
at::Tensor Orthogonalised(const at::Tensor& matrix);

/// SchedulePoint is a point of a run, or of a phase of it, as the learning-rate schedules see it.
struct SchedulePoint {
  std::int64_t iteration = 0;  ///< counts from the start of the run or phase
  std::int64_t update = 0;     ///< counts from the start of the run or phase
  double done = 0;  ///< completed share: 0 at the first iteration, 1 at the last (UpdatePlan::Done)
};

/// The learning rate of the iteration at `point`.
double LearningRate(const OptimizerConfig& config, const SchedulePoint& point);

}  // namespace tandem
