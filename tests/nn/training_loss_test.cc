// Compares the three forms of the loss with each other.
#include "nn/training_loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include "nn/network.h"

namespace tandem {
namespace {

constexpr std::int64_t kRows = 30;
constexpr std::int64_t kOutputs = 5;

struct LossAndGradient {
  double loss;
  at::Tensor gradient;
};

class EveryLoss : public testing::TestWithParam<Head> {
 protected:
  static TrainingConfig Config() {
    TrainingConfig config;
    config.policy_weight = 0.3;
    return config;
  }

  LossAndGradient ByAutograd(const at::Tensor& weights) const {
    const at::Tensor outputs = outputs_.clone().set_requires_grad(true);
    const at::Tensor loss = loss_.Differentiable(outputs, targets_, weights);
    loss.backward();
    return {loss.item<double>(), outputs.grad()};
  }

  // In two parts.
  LossAndGradient ByOperators(const at::Tensor& weights) const {
    const at::Tensor loss = at::zeros({});
    const at::Tensor gradient = at::empty_like(outputs_);
    for (const std::int64_t first : {std::int64_t{0}, kRows / 2}) {
      const auto part = [&](const at::Tensor& of) {
        return of.defined() ? of.narrow(0, first, kRows / 2) : of;
      };
      loss_.Add({.outputs = part(outputs_),
                 .targets = part(targets_),
                 .weights = part(weights),
                 .cost_scale =
                     weights.defined() ? TrainingLoss::SumOf(weights).reciprocal() : at::Tensor(),
                 .batch_rows = kRows},
                loss, part(gradient));
    }
    return {loss.item<double>(), gradient};
  }

  LossAndGradient ByRows(const at::Tensor& weights) const {
    at::Tensor gradient = at::empty_like(outputs_);
    const double loss =
        loss_.RowLoss({.rows = kRows,
                       .outputs = kOutputs,
                       .y = outputs_.const_data_ptr<float>(),
                       .targets = targets_.const_data_ptr<float>(),
                       .weights = weights.defined() ? weights.const_data_ptr<float>() : nullptr,
                       .cost_scale = loss_.CostScale(kRows, kOutputs, weights),
                       .row_scale = 1.0 / kRows,
                       .gradient = gradient.mutable_data_ptr<float>()});
    return {loss, gradient};
  }

  void ExpectSameInEveryForm(const at::Tensor& weights) const {
    const LossAndGradient expected = ByAutograd(weights);
    for (const LossAndGradient& actual : {ByOperators(weights), ByRows(weights)}) {
      EXPECT_NEAR(actual.loss, expected.loss, 1e-5 * (1 + expected.loss));
      EXPECT_TRUE(actual.gradient.allclose(expected.gradient, /*rtol=*/1e-4, /*atol=*/1e-7));
    }
  }

  at::Generator generator_ = InitialWeights(/*seed=*/1);
  const TrainingLoss loss_{GetParam(), Config()};
  const at::Tensor outputs_ = at::randn({kRows, kOutputs}, generator_) * 2;
  const at::Tensor targets_ = at::rand({kRows, kOutputs}, generator_);
};

TEST_P(EveryLoss, IsTheSameInEveryForm) { ExpectSameInEveryForm(/*weights=*/{}); }

INSTANTIATE_TEST_SUITE_P(Every, EveryLoss,
                         testing::Values(Head::kV, Head::kQ, Head::kQIn, Head::kPolicy, Head::kVp));

// Rows that label a policy have no weights.
class EveryLossOfCosts : public EveryLoss {};

TEST_P(EveryLossOfCosts, IsTheSameInEveryFormWithWeights) {
  ExpectSameInEveryForm(at::rand({kRows, kOutputs}, generator_));
}

TEST_P(EveryLossOfCosts, OfABatchWithoutAnyWeightIsZero) {
  const at::Tensor weights = at::zeros({kRows, kOutputs});
  for (const LossAndGradient& actual :
       {ByAutograd(weights), ByOperators(weights), ByRows(weights)}) {
    EXPECT_EQ(actual.loss, 0);
    EXPECT_TRUE(actual.gradient.equal(at::zeros_like(outputs_)));
  }
}

INSTANTIATE_TEST_SUITE_P(Every, EveryLossOfCosts, testing::Values(Head::kV, Head::kQ, Head::kQIn));

}  // namespace
}  // namespace tandem
