// A small network, rows for it, and the gradients that autograd computes.
#pragma once

#include <ATen/ops/mse_loss.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "nn/backend.h"
#include "nn/resnet_fc.h"
#include "nn/threads.h"
#include "tandem/error.h"

namespace tandem {

struct Gradients {
  double loss;
  StateDict tensors;
};

/// The distance of tensors from others, relative to the norm of the others.
inline double Distance(const StateDict& tensors, const StateDict& from) {
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    EXPECT_EQ(tensors[i].first, from[i].first);
    EXPECT_EQ(tensors[i].second.sizes(), from[i].second.sizes());
    difference += (tensors[i].second - from[i].second).square().sum().item<double>();
    size += from[i].second.square().sum().item<double>();
  }
  return std::sqrt(difference / size);
}

/// The networks that the tests of every training step have. The second is DeepXube's resnet_fc.
inline NetworkConfig SmallNetwork() { return {.width = 32, .blocks = 2}; }
inline NetworkConfig SmallDeepXubeNetwork() {
  return {.width = 32, .blocks = 2, .norm = Norm::kBatch, .input_layer = InputLayer::kLinear};
}

inline NetworkConfig SmallMlp(Norm norm) {
  return {.kind = "mlp",
          .stem_width = 40,
          .width = 32,
          .blocks = 2,
          .norm = norm,
          .activation = Activation::kLeakyRelu};
}

/// `TrainingStepTest` compares a training step, which MakeStep makes, with autograd.
class TrainingStepTest : public testing::Test {
 protected:
  static constexpr std::int64_t kOutputs = 3;

  TrainingStepTest(std::int64_t rows, const InputLayout& input, NetworkConfig network)
      : spec_{.input = input, .layers = std::move(network), .outputs = kOutputs}, rows_(rows) {}

  virtual std::unique_ptr<GradientStep> MakeStep(ResNetFC& net,
                                                 const TrainingConfig& config) const = 0;

  Gradients ByStep(Precision precision, std::int64_t parts = 1) const {
    ResNetFC net(spec_, /*seed=*/1);
    TrainingConfig config;
    config.precision = precision;
    config.accumulation_steps = parts;
    const auto step = MakeStep(net, config);
    step->SetGradients(inputs_, targets_ + 1, {});  // must leave no trace in the next gradients
    const at::Tensor loss = step->SetGradients(inputs_, targets_, {});
    return {loss.item<double>(), GradientsOf(net)};
  }

  Gradients ByAutograd(Precision precision) const {
    ResNetFC net(spec_, /*seed=*/1);
    const at::Tensor loss = LossByAutograd(net, precision);
    return {loss.item<double>(), GradientsOf(net)};
  }

  /// Sets the gradients too.
  at::Tensor LossByAutograd(ResNetFC& net, Precision precision) const {
    const bool bf16 = precision == Precision::kBf16;
    const OneHot one_hot(spec_.input, bf16 ? at::kBFloat16 : at::kFloat, c10::kCPU);
    at::Tensor outputs;
    {
      const ScopedAutocast autocast(c10::kCPU, bf16);
      outputs = net.Forward(one_hot(inputs_));
    }
    at::Tensor loss = at::mse_loss(outputs, targets_);
    loss.backward();
    return loss;
  }

  static StateDict GradientsOf(const ResNetFC& net) {
    StateDict gradients;
    for (const auto& [name, parameter] : net.named_parameters()) {
      gradients.emplace_back(name, parameter.grad().clone());
    }
    return gradients;
  }

  void ExpectFp32GradientsOfAutograd() const {
    const Gradients expected = ByAutograd(Precision::kFp32);
    const Gradients actual = ByStep(Precision::kFp32);
    EXPECT_NEAR(actual.loss, expected.loss, 1e-5 * expected.loss);
    EXPECT_LT(Distance(actual.tensors, expected.tensors), 1e-5);
  }

  /// Autograd in bf16 rounds too, so its error, times `most`, is the measure.
  void ExpectBf16GradientsNearFp32(double most) const {
    const Gradients exact = ByAutograd(Precision::kFp32);
    const Gradients actual = ByStep(Precision::kBf16);
    EXPECT_NEAR(actual.loss, exact.loss, 0.01 * exact.loss);
    EXPECT_LT(Distance(actual.tensors, exact.tensors),
              most * Distance(ByAutograd(Precision::kBf16).tensors, exact.tensors));
  }

  /// For a network of two blocks with batch normalisation.
  void ExpectRunningStatisticsOfAutograd() const {
    ResNetFC by_autograd(spec_, /*seed=*/1);
    ResNetFC by_step(spec_, /*seed=*/1);
    const auto step = MakeStep(by_step, {});
    for (int i = 0; i < 3; ++i) {
      LossByAutograd(by_autograd, Precision::kFp32);
      step->SetGradients(inputs_, targets_, {});
    }
    const std::vector<at::Tensor> expected = by_autograd.buffers();
    const std::vector<at::Tensor> actual = by_step.buffers();
    ASSERT_EQ(expected.size(), 8U);  // a mean and a variance of each of four layers
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(actual[i].allclose(expected[i], /*rtol=*/1e-4, /*atol=*/1e-5)) << i;
    }
  }

  void ExpectErrorIfAByteIsNoValue() const {
    ResNetFC net(spec_, /*seed=*/1);
    const auto step = MakeStep(net, {});
    const at::Tensor inputs = inputs_.clone();
    inputs[rows_ - 1][2] = spec_.input.depth;
    EXPECT_THROW(step->SetGradients(inputs, targets_, {}), Error);
  }

  static void ExpectSameWeights(const StateDict& actual, const StateDict& expected,
                                double tolerance) {
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(actual[i].second.allclose(expected[i].second, /*rtol=*/0, tolerance))
          << expected[i].first;
    }
  }

  const ScopedThreads threads_{2};
  const NetworkSpec spec_;
  const std::int64_t rows_;
  at::Generator generator_ = InitialWeights(/*seed=*/1);  // the same numbers in every test
  const at::Tensor inputs_ =
      at::randint(0, spec_.input.depth, {rows_, spec_.input.positions}, generator_, at::kByte);
  const at::Tensor targets_ = at::randn({rows_, kOutputs}, generator_) * 3 + 5;
};

}  // namespace tandem
