#include "nn/optimizer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tandem/error.h"

namespace tandem {
namespace {

TEST(Optimizer, TakesTheStepComputedByHand) {
  // Gradient 0.5 and then -1 at rate 0.1, beta1 0.9, beta2 0.99, epsilon 0:
  //   m1 = 0.05, v1 = 0.0025; corrected 0.5 and 0.25, so the first step is 0.1 * 0.5 / 0.5
  //   m2 = -0.055, v2 = 0.012475; corrected -0.055/0.19 and 0.012475/0.0199
  const OptimizerConfig adam{.beta1 = 0.9, .beta2 = 0.99, .epsilon = 0};
  at::Tensor w = at::tensor({2.0F}).requires_grad_();
  Optimizer optimizer({w}, adam);
  w.mutable_grad() = at::tensor({0.5F});
  optimizer.Step(0.1);
  EXPECT_NEAR(w.item<float>(), 1.9, 1e-6);
  EXPECT_FALSE(w.grad().defined());
  w.mutable_grad() = at::tensor({-1.0F});
  optimizer.Step(0.1);
  const double step = 0.1 * (0.055 / 0.19) / std::sqrt(0.012475 / 0.0199);
  EXPECT_NEAR(w.item<float>(), 1.9 + step, 1e-6);
}

TEST(Optimizer, WeightDecayShrinksTheWeightItself) {
  at::Tensor w = at::tensor({2.0F}).requires_grad_();
  Optimizer optimizer({w}, {.weight_decay = 0.1, .epsilon = 0});
  w.mutable_grad() = at::tensor({0.5F});
  optimizer.Step(0.01);
  EXPECT_NEAR(w.item<float>(), 2 * (1 - 0.01 * 0.1) - 0.01, 1e-6);
}

TEST(Optimizer, StateHasTheStepsAndBothMeansOfEachParameter) {
  std::vector<at::Tensor> parameters = {at::zeros({2}).requires_grad_(),
                                        at::zeros({3, 2}).requires_grad_()};
  std::vector<std::string> names;
  for (const auto& [name, tensor] : Optimizer(parameters, {}).State({"a", "b"})) {
    names.push_back(name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"steps", "mean.a", "mean_square.a", "mean.b",
                                             "mean_square.b"}));
}

TEST(Optimizer, RejectsAParameterWithoutAGradient) {
  at::Tensor w = at::tensor({2.0F}).requires_grad_();
  Optimizer optimizer({w}, {});
  EXPECT_THROW(optimizer.Step(0.1), Error);
}

TEST(Optimizer, ClipsOnlyGradientsAboveTheMaximumNorm) {
  // Two parameters with the gradient (3, 4), of length 5, or a tenth of it. With beta1 0 and a huge
  // epsilon, Adam's step is the gradient times rate / epsilon.
  const auto steps_of = [](float scale) {
    at::Tensor a = at::tensor({0.0F}).requires_grad_(), b = at::tensor({0.0F}).requires_grad_();
    Optimizer optimizer({a, b}, {.max_grad_norm = 1, .beta1 = 0, .beta2 = 0, .epsilon = 1e6});
    a.mutable_grad() = at::tensor({3 * scale});
    b.mutable_grad() = at::tensor({4 * scale});
    optimizer.Step(1e6);
    return std::pair(a.item<float>(), b.item<float>());
  };
  EXPECT_NEAR(steps_of(1).first, -0.6, 1e-5);
  EXPECT_NEAR(steps_of(1).second, -0.8, 1e-5);
  EXPECT_NEAR(steps_of(0.1F).first, -0.3, 1e-5);
  EXPECT_NEAR(steps_of(0.1F).second, -0.4, 1e-5);
}

TEST(LearningRate, WarmsUpLinearly) {
  const OptimizerConfig config{.learning_rate = 0.1, .warmup_iterations = 3};
  EXPECT_DOUBLE_EQ(LearningRate(config, {.iteration = 0}), 0.025);
  EXPECT_DOUBLE_EQ(LearningRate(config, {.iteration = 2, .done = 0.5}), 0.075);
  EXPECT_DOUBLE_EQ(LearningRate(config, {.iteration = 3, .done = 0.75}), 0.1);
}

TEST(LearningRate, FollowsItsSchedule) {
  const auto rate = [](Schedule schedule, std::int64_t iteration) {
    return LearningRate(
        {.learning_rate = 0.1, .schedule = schedule, .final_learning_rate = 0.02, .decay = 0.5},
        {.iteration = iteration, .done = static_cast<double>(iteration) / 4});
  };
  EXPECT_EQ(rate(Schedule::kConstant, 4), 0.1);
  EXPECT_DOUBLE_EQ(rate(Schedule::kLinear, 0), 0.1);
  EXPECT_DOUBLE_EQ(rate(Schedule::kLinear, 2), 0.06);
  EXPECT_DOUBLE_EQ(rate(Schedule::kLinear, 4), 0.02);
  EXPECT_DOUBLE_EQ(rate(Schedule::kExponential, 3), 0.0125);
}

}  // namespace
}  // namespace tandem
