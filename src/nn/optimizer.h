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

class FlatParameters;
class PassRunner;

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
/// Each parameter may have a learning rate and a weight decay of its own, as the parameter groups
/// of PyTorch's optimizers have: `optimizer.first_layer_lr_factor` and similar keys multiply the
/// common ones. A parameter belongs to
///
/// - the output layer if it is the last weight, or comes after it,
/// - otherwise to the first layer if it comes before the second weight,
/// - otherwise to a hidden layer, whose factors are 1.
///
/// A weight is a parameter of two or more dimensions. The biases and the parameters of a
/// normalisation have one. `optimizer.bias_weight_decay_factor` multiplies their weight decay.
///
/// Adam and SGD use LibTorch's fused kernels, because a step of torch::optim takes three times as
/// long. After UseFlat, a captured step of Adam is one AdamPass if all parameters have the same
/// factors.
class Optimizer {
 public:
  /// `parameters` are updated in place. They must all be on one device, in the order in which a
  /// forward pass uses them.
  Optimizer(std::vector<at::Tensor> parameters, const OptimizerConfig& config);

  /// Takes one step with the parameters' gradients and then clears the gradients. Muon's own
  /// learning rate is scaled by `learning_rate` / `optimizer.learning_rate`. Throws Error if a
  /// parameter has no gradient.
  void Step(double learning_rate);

  /// Makes each step also write the copies of the parameters, if there are any. `flat` must have
  /// the parameters of this optimizer. `flat` and `passes`, of their device, must outlive it.
  void UseFlat(FlatParameters& flat, const PassRunner& passes);

  /// Whether a GPU can capture steps (Device::CaptureWork): after UseFlat, Adam and AdamW can read
  /// the learning rate from the device's memory.
  bool is_capturable() const;

  /// Enqueues setting the learning rate of StepAtDeviceRate. Not a part of the captured work.
  void SetDeviceRate(double learning_rate);

  /// Step at the learning rate of SetDeviceRate. Requires is_capturable.
  void StepAtDeviceRate();

  /// Drops the parameters' gradients without a step.
  void ClearGradients();

  /// The state that a checkpoint saves. With Adam or AdamW: the number of steps taken, and both
  /// running means of each parameter. With SGD: the momentum of each parameter. With Muon: each
  /// parameter's part of the two. `names[i]` is the name of parameter i. The tensors are not
  /// copies, so writing to them changes the optimizer.
  StateDict State(const std::vector<std::string>& names) const;

 private:
  // What a parameter's learning rate and weight decay are multiplied by.
  struct Factors {
    double learning_rate = 1;
    double weight_decay = 1;
    bool operator==(const Factors&) const = default;
  };

  // How parameters are updated. Muon updates some by its own method and the others by AdamW.
  enum class Method { kAdam, kAdamW, kSgd, kMuon };

  // Parameters with the same factors that one method updates, by their numbers, and their running
  // means. Only Adam and AdamW have mean_square.
  struct Group {
    Method method = Method::kAdamW;
    Factors factors = {};
    std::vector<std::size_t> numbers = {};
    std::vector<at::Tensor> parameters = {}, mean = {}, mean_square = {};
  };

  static bool IsAdam(Method method) { return method == Method::kAdam || method == Method::kAdamW; }
  bool uses_adam() const;
  Method MethodOf(bool is_hidden_matrix) const;
  Factors FactorsOf(std::size_t number) const;
  void Add(std::size_t number, Method method);
  void StepGroup(const Group& group, const std::vector<at::Tensor>& gradients,
                 double learning_rate) const;
  static void JoinMeans(Group& group);
  std::vector<at::Tensor> CheckedGradients() const;
  // `Rate` is double, or a tensor on the device.
  template <class Rate>
  void StepAdam(const Group& group, const std::vector<at::Tensor>& gradients,
                const Rate& learning_rate) const;
  bool TryStepAtOnce(const std::vector<at::Tensor>& gradients) const;
  void StepSgd(const Group& group, const std::vector<at::Tensor>& gradients,
               double learning_rate) const;
  void StepMuon(const Group& group, const std::vector<at::Tensor>& gradients,
                double learning_rate) const;

  OptimizerConfig config_;
  std::vector<at::Tensor> parameters_;
  std::vector<Group> groups_;
  at::Tensor steps_;                    // () float, on the device; of Adam and AdamW
  at::Tensor rate_;                     // () float, on the device; set by SetDeviceRate
  FlatParameters* flat_ = nullptr;      // null until UseFlat
  const PassRunner* passes_ = nullptr;  // null until UseFlat
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
