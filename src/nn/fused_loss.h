// The losses of training for the fused step (fused_step.h), with their gradients. The code does not
// need LibTorch.
#pragma once

#include <cstdint>
#include <utility>

#include "config/config.h"

namespace tandem {

/// RowLoss computes the loss of rows of outputs and its gradient. The losses are those of
/// TorchTrainer.
class RowLoss {
 public:
  RowLoss(Head head, TrainingConfig config) : head_(head), config_(std::move(config)) {}

  /// The rows of a tile. `cost_scale` is what each error of a cost counts in the mean loss of the
  /// batch, and `row_scale` what each row's policy counts.
  struct Rows {
    std::int64_t rows, outputs;
    const float *y, *targets;  ///< (rows, outputs)
    const float* weights;      ///< of each output; null if all are 1
    double cost_scale, row_scale;
    float* gradient;  ///< (rows, outputs): set to the gradient of the outputs
  };

  /// Returns what the rows contribute to the mean loss of the batch, and sets the gradient.
  double operator()(const Rows& rows) const;

  /// The number of outputs that are costs.
  std::int64_t CostsOf(std::int64_t outputs) const;

 private:
  struct Term {
    double loss, slope;
  };
  Term OfCost(double error) const;
  static double OfPolicy(const Rows& rows, std::int64_t row, std::int64_t first, double scale);

  Head head_;
  TrainingConfig config_;
};

}  // namespace tandem
