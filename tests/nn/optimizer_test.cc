#include "nn/optimizer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/linalg_svdvals.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <algorithm>
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
  const OptimizerConfig adam{
      .name = OptimizerKind::kAdam, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 0};
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

TEST(Optimizer, AdamAndAdamWDifferInWeightDecay) {
  // AdamW shrinks the weight itself, by rate * decay; Adam adds decay * weight to the gradient,
  // which its first step then turns into a step of the whole rate.
  const auto after_one_step = [](OptimizerKind kind) {
    at::Tensor w = at::tensor({2.0F}).requires_grad_();
    Optimizer optimizer({w}, {.name = kind, .weight_decay = 0.1, .epsilon = 0});
    w.mutable_grad() = at::tensor({0.5F});
    optimizer.Step(0.01);
    return w.item<float>();
  };
  EXPECT_NEAR(after_one_step(OptimizerKind::kAdamW), 2 * (1 - 0.01 * 0.1) - 0.01, 1e-6);
  EXPECT_NEAR(after_one_step(OptimizerKind::kAdam), 2 - 0.01, 1e-6);
}

TEST(Optimizer, SgdTakesTheStepsComputedByHand) {
  // Gradients 0.5 and then -1, at rate 0.1, momentum 0.9 and weight decay 0.1:
  //   m1 = 0.5 + 0.1 * 2 = 0.7, w1 = 2 - 0.07; m2 = 0.9 * 0.7 - 1 + 0.193, w2 = w1 - 0.1 * m2
  at::Tensor w = at::tensor({2.0F}).requires_grad_();
  Optimizer optimizer({w}, {.name = OptimizerKind::kSgd, .weight_decay = 0.1, .momentum = 0.9});
  w.mutable_grad() = at::tensor({0.5F});
  optimizer.Step(0.1);
  EXPECT_NEAR(w.item<float>(), 1.93, 1e-6);
  w.mutable_grad() = at::tensor({-1.0F});
  optimizer.Step(0.1);
  EXPECT_NEAR(w.item<float>(), 1.93 - 0.1 * (0.63 - 1 + 0.193), 1e-6);
}

TEST(Optimizer, SgdWithNesterovMomentumTakesTheStepsComputedByHand) {
  // Gradients 0.5 and then -1, at rate 0.1 and momentum 0.9:
  //   m1 = 0.5, w1 = 2 - 0.1 * (0.5 + 0.9 * m1); m2 = 0.9 * m1 - 1, w2 = w1 - 0.1 * (-1 + 0.9 * m2)
  at::Tensor w = at::tensor({2.0F}).requires_grad_();
  Optimizer optimizer({w}, {.name = OptimizerKind::kSgd, .momentum = 0.9, .nesterov = true});
  w.mutable_grad() = at::tensor({0.5F});
  optimizer.Step(0.1);
  EXPECT_NEAR(w.item<float>(), 1.905, 1e-6);
  w.mutable_grad() = at::tensor({-1.0F});
  optimizer.Step(0.1);
  EXPECT_NEAR(w.item<float>(), 1.905 - 0.1 * (-1 + 0.9 * (0.45 - 1)), 1e-6);
}

TEST(Optimizer, SgdWithoutMomentumFollowsTheGradient) {
  at::Tensor w = at::tensor({2.0F}).requires_grad_();
  Optimizer optimizer({w}, {.name = OptimizerKind::kSgd, .momentum = 0});
  for (int i = 0; i < 2; ++i) {
    w.mutable_grad() = at::tensor({0.5F});
    optimizer.Step(0.1);
  }
  EXPECT_NEAR(w.item<float>(), 1.9, 1e-6);
}

TEST(Optimizer, OrthogonalisedMatricesHaveSingularValuesNearOne) {
  for (const auto& [rows, columns] : {std::pair{8, 8}, {20, 8}, {8, 20}}) {
    at::Tensor matrix = at::randn({rows, columns});
    if (rows == columns) matrix += 4 * at::eye(rows);  // no singular value near 0
    const at::Tensor result = Orthogonalised(1e-3 * matrix);
    EXPECT_EQ(result.sizes(), matrix.sizes());
    const at::Tensor values = at::linalg_svdvals(result);
    EXPECT_GT(values.min().item<float>(), 0.5) << rows << " x " << columns;
    EXPECT_LT(values.max().item<float>(), 1.3) << rows << " x " << columns;
  }
  EXPECT_TRUE(at::equal(Orthogonalised(at::zeros({3, 3})), at::zeros({3, 3})));
}

TEST(Optimizer, MuonOrthogonalisesOnlyTheHiddenMatrices) {
  // Gradients of any size lead to the same step: of muon_learning_rate in all singular directions
  // of a hidden matrix, and of the learning rate for each element of other parameters.
  std::vector<at::Tensor> parameters;
  for (const auto& sizes : {std::vector<std::int64_t>{4, 3}, {4}, {4, 4}, {4}, {1, 4}, {1}}) {
    parameters.push_back(at::zeros(sizes).requires_grad_());
  }
  Optimizer optimizer(parameters, {.name = OptimizerKind::kMuon,
                                   .learning_rate = 0.01,
                                   .muon_learning_rate = 0.5,
                                   .epsilon = 0});
  for (at::Tensor& parameter : parameters) {
    parameter.mutable_grad() = 1e3 * at::ones_like(parameter);
  }
  parameters[2].mutable_grad() = 1e3 * at::eye(4);
  optimizer.Step(0.005);  // half of the schedule's rate, so half of Muon's
  const c10::NoGradGuard no_grad;
  EXPECT_TRUE(at::allclose(at::linalg_svdvals(parameters[2]), at::full({4}, 0.25), 0.3, 0));
  EXPECT_LT(parameters[2][0][0].item<float>(), 0);
  for (const int i : {0, 1, 3, 4, 5}) {
    EXPECT_TRUE(at::allclose(parameters[i], at::full_like(parameters[i], -0.005))) << i;
  }
  std::vector<std::string> names;
  for (const auto& [name, tensor] : optimizer.State({"a", "b", "c", "d", "e", "f"})) {
    if (name.ends_with("c") || name == "steps") names.push_back(name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"steps", "momentum.c"}));
}

// The parameters of a network of three layers with a normalisation after the first two.
std::vector<at::Tensor> ThreeLayers(float value) {
  std::vector<at::Tensor> parameters;
  for (const auto& sizes : std::vector<std::vector<std::int64_t>>{
           {4, 3}, {4}, {4}, {4}, {4, 4}, {4}, {4}, {4}, {1, 4}, {1}}) {
    parameters.push_back(at::full(sizes, value).requires_grad_());
  }
  return parameters;
}

TEST(Optimizer, EachLayerMovesByItsFactorOfTheLearningRate) {
  // The first step of Adam, and of SGD with gradient 1, is the learning rate.
  for (const OptimizerKind kind :
       {OptimizerKind::kAdam, OptimizerKind::kAdamW, OptimizerKind::kSgd}) {
    std::vector<at::Tensor> parameters = ThreeLayers(0);
    Optimizer optimizer(
        parameters,
        {.name = kind, .first_layer_lr_factor = 3, .output_layer_lr_factor = 0.5, .epsilon = 0});
    for (at::Tensor& parameter : parameters) parameter.mutable_grad() = at::ones_like(parameter);
    optimizer.Step(0.1);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const double factor = i < 4 ? 3 : i < 8 ? 1 : 0.5;
      EXPECT_TRUE(at::allclose(parameters[i], at::full_like(parameters[i], -0.1 * factor))) << i;
    }
  }
}

TEST(Optimizer, EachParameterDecaysByItsFactorOfTheWeightDecay) {
  // Without a gradient, AdamW and SGD multiply each parameter by 1 - rate * decay.
  for (const OptimizerKind kind : {OptimizerKind::kAdamW, OptimizerKind::kSgd}) {
    std::vector<at::Tensor> parameters = ThreeLayers(1);
    Optimizer optimizer(parameters, {.name = kind,
                                     .weight_decay = 0.1,
                                     .first_layer_lr_factor = 2,
                                     .first_layer_weight_decay_factor = 3,
                                     .output_layer_weight_decay_factor = 0.5,
                                     .bias_weight_decay_factor = 0});
    for (at::Tensor& parameter : parameters) parameter.mutable_grad() = at::zeros_like(parameter);
    optimizer.Step(0.1);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const double decay = i == 0 ? 0.2 * 0.3 : i == 4 ? 0.1 * 0.1 : i == 8 ? 0.1 * 0.05 : 0;
      EXPECT_TRUE(at::allclose(parameters[i], at::full_like(parameters[i], 1 - decay))) << i;
    }
  }
}

TEST(Optimizer, MuonScalesOnlyTheLayersThatAdamWUpdates) {
  const auto after_one_step = [](double first, double output) {
    std::vector<at::Tensor> parameters = ThreeLayers(0);
    Optimizer optimizer(parameters, {.name = OptimizerKind::kMuon,
                                     .learning_rate = 0.1,
                                     .first_layer_lr_factor = first,
                                     .output_layer_lr_factor = output});
    for (at::Tensor& parameter : parameters) parameter.mutable_grad() = at::ones_like(parameter);
    optimizer.Step(0.1);
    return parameters;
  };
  const std::vector<at::Tensor> plain = after_one_step(1, 1);
  const std::vector<at::Tensor> scaled = after_one_step(3, 0.5);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const double factor = i < 4 ? 3 : i < 8 ? 1 : 0.5;
    EXPECT_TRUE(at::allclose(scaled[i], plain[i] * factor)) << i;
    EXPECT_GT(plain[i].abs().min().item<float>(), 0) << i;
  }
}

TEST(Optimizer, StateHasEveryParameterOnceHoweverManyGroupsThereAre) {
  const std::vector<std::string> names = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
  const auto names_of = [&](const OptimizerConfig& config) {
    std::vector<std::string> found;
    for (const auto& [name, tensor] : Optimizer(ThreeLayers(0), config).State(names)) {
      found.push_back(name);
    }
    std::ranges::sort(found);
    return found;
  };
  const std::vector<std::string> plain = names_of({});
  EXPECT_EQ(plain.size(), 1 + 2 * names.size());
  EXPECT_EQ(names_of({.weight_decay = 0.1,
                      .first_layer_lr_factor = 2,
                      .output_layer_lr_factor = 3,
                      .bias_weight_decay_factor = 0}),
            plain);
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
    Optimizer optimizer(
        {a, b},
        {.name = OptimizerKind::kAdam, .max_grad_norm = 1, .beta1 = 0, .beta2 = 0, .epsilon = 1e6});
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
  EXPECT_DOUBLE_EQ(rate(Schedule::kCosine, 0), 0.1);
  EXPECT_DOUBLE_EQ(rate(Schedule::kCosine, 1), 0.02 + 0.08 * (1 + std::sqrt(0.5)) / 2);
  EXPECT_DOUBLE_EQ(rate(Schedule::kCosine, 2), 0.06);
  EXPECT_DOUBLE_EQ(rate(Schedule::kCosine, 4), 0.02);
  EXPECT_DOUBLE_EQ(rate(Schedule::kExponential, 3), 0.0125);
}

TEST(LearningRate, StepMultipliesEveryFewUpdates) {
  const OptimizerConfig config{
      .learning_rate = 0.1, .schedule = Schedule::kStep, .step_every = 3, .step_factor = 0.5};
  const auto rate = [&](std::int64_t update) {
    return LearningRate(config, {.iteration = 100 * update, .update = update});
  };
  EXPECT_DOUBLE_EQ(rate(2), 0.1);
  EXPECT_DOUBLE_EQ(rate(3), 0.05);
  EXPECT_DOUBLE_EQ(rate(6), 0.025);
}

TEST(LearningRate, WsdDecreasesOnlyInTheLastShareOfTheRun) {
  const OptimizerConfig config{.learning_rate = 0.1,
                               .schedule = Schedule::kWsd,
                               .final_learning_rate = 0.02,
                               .decay_share = 0.25};
  const auto rate = [&](double done) { return LearningRate(config, {.done = done}); };
  EXPECT_DOUBLE_EQ(rate(0), 0.1);
  EXPECT_DOUBLE_EQ(rate(0.75), 0.1);
  EXPECT_DOUBLE_EQ(rate(0.875), 0.06);
  EXPECT_DOUBLE_EQ(rate(1), 0.02);
}

}  // namespace
}  // namespace tandem
