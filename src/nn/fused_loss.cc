#include "nn/fused_loss.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tandem/error.h"

namespace tandem {

std::int64_t RowLoss::CostsOf(std::int64_t outputs) const {
  if (head_ == Head::kPolicy) return 0;
  return head_ == Head::kVp ? 1 : outputs;
}

double RowLoss::operator()(const Rows& rows) const {
  const std::int64_t costs = CostsOf(rows.outputs);
  double sum = 0;
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    for (std::int64_t i = r * rows.outputs; i < r * rows.outputs + costs; ++i) {
      const double weight = rows.weights != nullptr ? rows.weights[i] : 1;
      const Term term = OfCost(static_cast<double>(rows.y[i]) - rows.targets[i]);
      sum += rows.cost_scale * weight * term.loss;
      rows.gradient[i] = static_cast<float>(rows.cost_scale * weight * term.slope);
    }
    if (head_ == Head::kPolicy) sum += OfPolicy(rows, r, 0, rows.row_scale);
    if (head_ == Head::kVp) {
      sum += OfPolicy(rows, r, 1, rows.row_scale * config_.policy_weight);
    }
  }
  return sum;
}

RowLoss::Term RowLoss::OfCost(double error) const {
  switch (config_.loss) {
    case Loss::kSquared:
      return {.loss = error * error, .slope = 2 * error};
    case Loss::kHuber: {
      const double delta = config_.huber_delta;
      const double size = std::abs(error);
      return {.loss = size <= delta ? error * error / 2 : delta * (size - delta / 2),
              .slope = std::isnan(error) ? error : std::clamp(error, -delta, delta)};
    }
    case Loss::kLogCosh: {  // log(cosh(x)) = |x| + log(1 + exp(-2 |x|)) - log 2
      const double size = std::abs(error);
      return {.loss = size + std::log1p(std::exp(-2 * size)) - std::numbers::ln2,
              .slope = std::tanh(error)};
    }
  }
  throw Error("RowLoss: unknown loss; this is a bug in Tandem");
}

// The cross-entropy of the outputs of a row from column `first` on, which are logits.
double RowLoss::OfPolicy(const Rows& rows, std::int64_t row, std::int64_t first, double scale) {
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

}  // namespace tandem
