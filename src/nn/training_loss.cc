#include "nn/training_loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/mse_loss.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tandem {
namespace {

at::Tensor PolicyLoss(const at::Tensor& logits, const at::Tensor& targets,
                      at::Reduction::Reduction reduction) {
  return at::cross_entropy_loss(logits, targets, /*weight=*/{}, reduction);
}

// The cross-entropy of the outputs of a row from column `first` on, which are logits.
double PolicyLoss(const TrainingLoss::HostRows& rows, std::int64_t row, std::int64_t first,
                  double scale) {
  const std::int64_t begin = row * rows.outputs + first;
  const std::int64_t end = (row + 1) * rows.outputs;
  const double most = *std::max_element(rows.y + begin, rows.y + end);
  double exps = 0;
  double targets = 0;
  double logits = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    exps += std::exp(rows.y[i] - most);
    targets += rows.targets[i];
    logits += static_cast<double>(rows.targets[i]) * (rows.y[i] - most);
  }
  for (std::int64_t i = begin; i < end; ++i) {
    const double probability = std::exp(rows.y[i] - most) / exps;
    rows.gradient[i] = static_cast<float>(scale * (probability * targets - rows.targets[i]));
  }
  return scale * (targets * std::log(exps) - logits);
}

}  // namespace

at::Tensor TrainingLoss::SumOf(const at::Tensor& weights) {
  return weights.sum().clamp_min(std::numeric_limits<float>::min());
}

at::Tensor TrainingLoss::Differentiable(const at::Tensor& outputs, const at::Tensor& targets,
                                        const at::Tensor& weights) const {
  if (!weights.defined()) return OutputLoss(outputs, targets, at::Reduction::Mean);
  const at::Tensor losses = OutputLoss(outputs, targets, at::Reduction::None);
  return (losses * weights).sum() / SumOf(weights);
}

// Without a reduction, returns the loss of each output.
at::Tensor TrainingLoss::OutputLoss(const at::Tensor& outputs, const at::Tensor& targets,
                                    at::Reduction::Reduction reduction) const {
  const std::int64_t costs = TraitsOf(head_).num_costs(targets.size(1));
  const std::int64_t logits = targets.size(1) - costs;
  if (logits == 0) return at::mse_loss(outputs, targets, reduction);
  if (costs == 0) return PolicyLoss(outputs, targets, reduction);
  return at::mse_loss(outputs.narrow(1, 0, costs), targets.narrow(1, 0, costs), reduction) +
         policy_weight_ * PolicyLoss(outputs.narrow(1, costs, logits),
                                     targets.narrow(1, costs, logits), reduction);
}

void TrainingLoss::Add(const TensorRows& rows, const at::Tensor& loss,
                       const at::Tensor& gradient) const {
  const std::int64_t outputs = rows.outputs.size(1);
  const std::int64_t costs = TraitsOf(head_).num_costs(outputs);
  if (costs > 0) {
    const auto part = [&](const at::Tensor& tensor) { return tensor.narrow(1, 0, costs); };
    const at::Tensor errors = part(rows.outputs) - part(rows.targets);
    const at::Tensor losses = errors.square();
    at::Tensor slopes = errors * 2;
    at::Tensor sum;
    if (rows.weights.defined()) {
      sum = (losses * part(rows.weights)).sum() * rows.cost_scale;
      slopes = slopes * part(rows.weights) * rows.cost_scale;
    } else {
      const double scale = 1 / static_cast<double>(rows.batch_rows * costs);
      sum = losses.sum() * scale;
      slopes = slopes * scale;
    }
    loss.add_(sum);
    part(gradient).copy_(slopes);
  }
  if (costs == outputs) return;
  const auto part = [&](const at::Tensor& tensor) {
    return tensor.narrow(1, costs, outputs - costs);
  };
  const double scale = policy_weight_ / static_cast<double>(rows.batch_rows);
  const at::Tensor logs = at::log_softmax(part(rows.outputs), 1);
  const at::Tensor wanted = part(rows.targets);
  loss.sub_((wanted * logs).sum() * scale);
  part(gradient).copy_((logs.exp() * wanted.sum(1, /*keepdim=*/true) - wanted) * scale);
}

double TrainingLoss::RowLoss(const HostRows& rows) const {
  const std::int64_t costs = TraitsOf(head_).num_costs(rows.outputs);
  double sum = 0;
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    for (std::int64_t i = r * rows.outputs; i < r * rows.outputs + costs; ++i) {
      const double weight = rows.weights != nullptr ? rows.weights[i] : 1;
      const double error = static_cast<double>(rows.y[i]) - rows.targets[i];
      sum += rows.cost_scale * weight * (error * error);
      rows.gradient[i] = static_cast<float>(rows.cost_scale * weight * (2 * error));
    }
    if (costs < rows.outputs) sum += PolicyLoss(rows, r, costs, rows.row_scale * policy_weight_);
  }
  return sum;
}

double TrainingLoss::CostScale(std::int64_t rows, std::int64_t outputs,
                               const at::Tensor& weights) const {
  if (!weights.defined()) {
    return 1 / static_cast<double>(
                   std::max<std::int64_t>(1, rows * TraitsOf(head_).num_costs(outputs)));
  }
  const auto* values = weights.const_data_ptr<float>();
  const double sum = std::accumulate(values, values + weights.numel(), 0.0);
  return 1 / std::max<double>(sum, std::numeric_limits<float>::min());
}

}  // namespace tandem
