// The losses of training and their gradients.
#pragma once

#include <ATen/core/Reduction.h>
#include <ATen/core/Tensor.h>

#include <cstdint>

#include "config/config.h"

namespace tandem {

/// TrainingLoss fits a network's outputs to their targets: estimated costs by the squared error,
/// and the actions of a policy by cross-entropy. For head vp, the loss is that of the estimated
/// cost plus train.policy_weight times the cross-entropy, as in AlphaZero (Silver et al., 2018).
/// The loss of a batch is the mean over the outputs that are costs, or over the rows of a policy.
/// If outputs have weights w, it is the sum of w times loss, divided by the sum of w. Rows that
/// label a policy have no weights.
///
/// The losses are written in three forms, which agree apart from rounding: by operators that
/// autograd differentiates, by operators that also compute the gradient, and for rows in host
/// memory.
class TrainingLoss {
 public:
  TrainingLoss(Head head, const TrainingConfig& config)
      : head_(head), policy_weight_(EstimatesCosts(head) ? config.policy_weight : 1) {}

  /// Returns the sum of all weights, by which losses are divided. It is not 0, so that the loss of
  /// a batch whose outputs are all masked is 0 and not 0 / 0.
  static at::Tensor SumOf(const at::Tensor& weights);

  /// Returns the loss of `outputs`, which autograd can differentiate. All are (rows, outputs);
  /// `weights` may be undefined.
  at::Tensor Differentiable(const at::Tensor& outputs, const at::Tensor& targets,
                            const at::Tensor& weights) const;

  /// Some rows of a batch. All tensors but `cost_scale` are (rows, outputs).
  struct TensorRows {
    at::Tensor outputs, targets;
    at::Tensor weights;     ///< undefined if all are 1
    at::Tensor cost_scale;  ///< one over SumOf the weights of the batch; undefined without weights
    std::int64_t batch_rows;
  };

  /// Adds the rows' part of the batch's loss to `loss`, a scalar, and sets `gradient` (rows,
  /// outputs) to that of the outputs.
  void Add(const TensorRows& rows, const at::Tensor& loss, const at::Tensor& gradient) const;

  /// Some rows of a batch in host memory.
  struct HostRows {
    std::int64_t rows, outputs;
    const float *y, *targets;  ///< (rows, outputs)
    const float* weights;      ///< of each output; null if all are 1
    double cost_scale;         ///< CostScale of the batch
    double row_scale;          ///< one over the number of rows of the batch
    float* gradient;           ///< (rows, outputs): set to the gradient of the outputs
  };

  /// Returns the rows' part of the batch's loss, and sets the gradient.
  double RowLoss(const HostRows& rows) const;

  /// Returns what each error of a cost counts in a batch. `weights` (rows, outputs) is on the CPU,
  /// or undefined.
  double CostScale(std::int64_t rows, std::int64_t outputs, const at::Tensor& weights) const;

 private:
  at::Tensor OutputLoss(const at::Tensor& outputs, const at::Tensor& targets,
                        at::Reduction::Reduction reduction) const;

  Head head_;
  double policy_weight_;  // 1 if there is nothing but the policy
};

}  // namespace tandem
