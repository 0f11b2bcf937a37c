// Compares TensorStep with autograd, and its passes with LibTorch's operators.
#include "nn/tensor_step.h"

#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "nn/optimizer.h"
#include "nn/tensor_file.h"
#include "nn/threads.h"
#include "support/layer_passes.h"
#include "support/temp_folder.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// More rows than a block of a pass over columns, and not a multiple of its rows of threads. A
// multiple of 3, the number of parts.
constexpr std::int64_t kRows = 297;
constexpr std::int64_t kOutputs = 3;
constexpr InputLayout kInput{.positions = 7, .depth = 5};  // 35 features, so 5 more are added

// The distance of tensors from others, relative to the norm of the others.
double Distance(const StateDict& tensors, const StateDict& from) {
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

struct Gradients {
  double loss;
  StateDict of;
};

class TensorGradients : public testing::Test {
 protected:
  explicit TensorGradients(NetworkConfig network = {.width = 32, .blocks = 2})
      : spec_{.input = kInput, .layers = std::move(network), .outputs = kOutputs} {}

  Gradients ByTensors(Precision precision, std::int64_t parts = 1) const {
    ResNetFC net(spec_, /*seed=*/1);
    TrainingConfig config;
    config.precision = precision;
    config.accumulation_steps = parts;
    const auto step = MakeTensorStep(net, config, *cpu_);
    step->SetGradients(inputs_, targets_ + 1, {});  // must leave no trace in the next gradients
    const at::Tensor loss = step->SetGradients(inputs_, targets_, {});
    return {loss.item<double>(), GradientsOf(net)};
  }

  at::Tensor LossByAutograd(ResNetFC& net, Precision precision) const {
    const bool bf16 = precision == Precision::kBf16;
    const OneHot one_hot(kInput, bf16 ? at::kBFloat16 : at::kFloat, c10::kCPU);
    at::Tensor outputs;
    {
      const ScopedAutocast autocast(c10::kCPU, bf16);
      outputs = net.Forward(one_hot(inputs_));
    }
    at::Tensor loss = at::mse_loss(outputs, targets_);
    loss.backward();
    return loss;
  }

  Gradients ByAutograd(Precision precision) const {
    ResNetFC net(spec_, /*seed=*/1);
    const at::Tensor loss = LossByAutograd(net, precision);
    return {loss.item<double>(), GradientsOf(net)};
  }

  static StateDict GradientsOf(const ResNetFC& net) {
    StateDict gradients;
    for (const auto& item : net.named_parameters()) {
      gradients.emplace_back(item.key(), item.value().grad().clone());
    }
    return gradients;
  }

  const ScopedThreads threads_{2};
  const std::unique_ptr<Device> cpu_ = OpenDevice("cpu");
  const NetworkSpec spec_;
  at::Generator generator_ = InitialWeights(/*seed=*/1);  // the same numbers in every test
  const at::Tensor inputs_ =
      at::randint(0, kInput.depth, {kRows, kInput.positions}, generator_, at::kByte);
  const at::Tensor targets_ = at::randn({kRows, kOutputs}, generator_) * 3 + 5;
};

// Width 33 has no aligned rows, so a thread takes one column at a time.
class TensorNetwork : public TensorGradients,
                      public testing::WithParamInterface<std::tuple<Norm, Activation, int, int>> {
 protected:
  TensorNetwork()
      : TensorGradients({.stem_width = std::get<2>(GetParam()),
                         .width = std::get<3>(GetParam()),
                         .blocks = 2,
                         .norm = std::get<0>(GetParam()),
                         .activation = std::get<1>(GetParam())}) {}
};

TEST_P(TensorNetwork, Fp32GradientsAreThoseOfAutograd) {
  const Gradients expected = ByAutograd(Precision::kFp32);
  const Gradients actual = ByTensors(Precision::kFp32);
  EXPECT_NEAR(actual.loss, expected.loss, 1e-5 * expected.loss);
  EXPECT_LT(Distance(actual.of, expected.of), 1e-5);
}

// Autograd in bf16 rounds too, so its error is the measure. Both errors vary by a third.
TEST_P(TensorNetwork, Bf16GradientsAreAsNearToFp32AsThoseOfAutograd) {
  const Gradients exact = ByAutograd(Precision::kFp32);
  const Gradients actual = ByTensors(Precision::kBf16);
  EXPECT_NEAR(actual.loss, exact.loss, 0.01 * exact.loss);
  EXPECT_LT(Distance(actual.of, exact.of),
            1.5 * Distance(ByAutograd(Precision::kBf16).of, exact.of));
}

INSTANTIATE_TEST_SUITE_P(
    Every, TensorNetwork,
    testing::Combine(testing::Values(Norm::kNone, Norm::kBatch, Norm::kLayer, Norm::kRms),
                     testing::Values(Activation::kRelu, Activation::kLeakyRelu, Activation::kSilu),
                     testing::Values(0, 40), testing::Values(32, 33)));

// The network of DeepXube's resnet_fc.
class TensorDeepXubeNetwork : public TensorGradients {
 protected:
  TensorDeepXubeNetwork()
      : TensorGradients(
            {.width = 32, .blocks = 2, .norm = Norm::kBatch, .input_layer = InputLayer::kLinear}) {}
};

TEST_F(TensorDeepXubeNetwork, GradientsAreThoseOfAutograd) {
  const Gradients expected = ByAutograd(Precision::kFp32);
  const Gradients actual = ByTensors(Precision::kFp32);
  EXPECT_NEAR(actual.loss, expected.loss, 1e-5 * expected.loss);
  EXPECT_LT(Distance(actual.of, expected.of), 1e-5);
}

TEST_F(TensorDeepXubeNetwork, RunningStatisticsAreThoseOfAutograd) {
  ResNetFC by_autograd(spec_, /*seed=*/1);
  ResNetFC by_tensors(spec_, /*seed=*/1);
  const auto step = MakeTensorStep(by_tensors, {}, *cpu_);
  for (int i = 0; i < 3; ++i) {
    LossByAutograd(by_autograd, Precision::kFp32);
    step->SetGradients(inputs_, targets_, {});
  }
  const std::vector<at::Tensor> expected = by_autograd.buffers();
  const std::vector<at::Tensor> actual = by_tensors.buffers();
  ASSERT_EQ(expected.size(), 8U);  // a mean and a variance of each of four layers
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(actual[i].allclose(expected[i], /*rtol=*/1e-4, /*atol=*/1e-5)) << i;
  }
}

TEST_F(TensorGradients, OfPartsOfABatchAreThoseOfTheWholeBatch) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    const Gradients whole = ByTensors(precision);
    const Gradients parts = ByTensors(precision, /*parts=*/3);
    EXPECT_NEAR(parts.loss, whole.loss, 1e-5 * whole.loss);
    // On a CPU, the gradients of weights of each part are rounded to bf16.
    EXPECT_LT(Distance(parts.of, whole.of), precision == Precision::kFp32 ? 1e-5 : 5e-3);
  }
}

TEST_F(TensorGradients, MovedParametersAreSavedAsBefore) {
  const TempFolder folder;
  ResNetFC net(spec_, /*seed=*/1);
  WriteTensorFile(folder.path() / "before", ToTensorDict(StateDictOf(net)));
  const auto step = MakeTensorStep(net, {}, *cpu_);
  WriteTensorFile(folder.path() / "moved", ToTensorDict(StateDictOf(net)));
  EXPECT_EQ(std::filesystem::file_size(folder.path() / "moved"),
            std::filesystem::file_size(folder.path() / "before"));
  EXPECT_EQ(WeightsSha256(StateDictOf(net)),
            WeightsSha256(StateDictOf(ResNetFC(spec_, /*seed=*/1))));
}

TEST_F(TensorGradients, ThrowIfAByteOfTheInputIsNoValue) {
  ResNetFC net(spec_, /*seed=*/1);
  const auto step = MakeTensorStep(net, {}, *cpu_);
  const at::Tensor inputs = inputs_.clone();
  inputs[kRows - 1][2] = kInput.depth;
  EXPECT_THROW(step->SetGradients(inputs, targets_, {}), Error);
}

class TensorSteps : public TensorGradients,
                    public testing::WithParamInterface<std::tuple<OptimizerConfig, TrainStep>> {
 protected:
  // Steps at different rates.
  void Train(TensorStep& step, Optimizer& optimizer, int steps) const {
    optimizer.UseCopies(step.parameters(), step.copies(), *cpu_->passes());
    for (int i = 0; i < steps; ++i) {
      optimizer.SetRate(0.01 / (i + 1));
      step.Step(inputs_, targets_, {}, [&] { optimizer.RepeatStep(); });
    }
  }
};

TEST_P(TensorSteps, GiveTheWeightsOfAutograd) {
  const auto& [config, step_kind] = GetParam();
  ResNetFC by_autograd(spec_, /*seed=*/1);
  Optimizer first(by_autograd.parameters(), config);
  for (int i = 0; i < 6; ++i) {
    LossByAutograd(by_autograd, Precision::kFp32);
    first.Step(0.01 / (i + 1));
  }
  ResNetFC by_tensors(spec_, /*seed=*/1);
  const auto step = MakeTensorStep(by_tensors, {.step = step_kind}, *cpu_);
  Optimizer second(by_tensors.parameters(), config);
  Train(*step, second, 6);
  const StateDict expected = StateDictOf(by_autograd);
  const StateDict actual = StateDictOf(by_tensors);
  for (std::size_t j = 0; j < expected.size(); ++j) {
    EXPECT_TRUE(actual[j].second.allclose(expected[j].second, /*rtol=*/0, /*atol=*/1e-4))
        << expected[j].first;
  }
}

TEST_P(TensorSteps, KeepCopiesOfTheWeightsInBf16) {
  const auto& [config, step_kind] = GetParam();
  ResNetFC net(spec_, /*seed=*/1);
  const auto step = MakeTensorStep(net, {.precision = Precision::kBf16, .step = step_kind}, *cpu_);
  Optimizer optimizer(net.parameters(), config);
  Train(*step, optimizer, 3);
  EXPECT_TRUE(step->copies().equal(step->parameters().to(at::kBFloat16)));
}

// As a checkpoint is loaded.
TEST_P(TensorSteps, UseWeightsThatChangedSinceTheLastStep) {
  const auto& [config, step_kind] = GetParam();
  const auto loss_after = [&, &config = config, &step_kind = step_kind](bool loads) {
    ResNetFC net(spec_, /*seed=*/1);
    const auto step =
        MakeTensorStep(net, {.precision = Precision::kBf16, .step = step_kind}, *cpu_);
    Optimizer optimizer(net.parameters(), config);
    const ResNetFC other(spec_, /*seed=*/2);
    const StateDict from = StateDictOf(other);
    if (loads) Train(*step, optimizer, 2);
    {
      const c10::NoGradGuard no_grad;
      const StateDict into = StateDictOf(net);
      for (std::size_t i = 0; i < from.size(); ++i) into[i].second.copy_(from[i].second);
    }
    return step->Step(inputs_, targets_, {}, [] {}).item<double>();
  };
  EXPECT_EQ(loss_after(true), loss_after(false));
}

INSTANTIATE_TEST_SUITE_P(
    Every, TensorSteps,
    testing::Combine(
        testing::Values(
            // A large epsilon, because Adam divides gradients near 0 by their size.
            OptimizerConfig{.name = OptimizerKind::kAdam, .weight_decay = 0.1, .epsilon = 1},
            OptimizerConfig{.name = OptimizerKind::kAdamW, .weight_decay = 0.1, .epsilon = 1},
            OptimizerConfig{.name = OptimizerKind::kAdamW, .max_grad_norm = 1, .epsilon = 1},
            OptimizerConfig{
                .name = OptimizerKind::kAdam, .first_layer_lr_factor = 0.5, .epsilon = 1}),
        testing::Values(TrainStep::kTensors, TrainStep::kCaptured)));

TEST(WhyNoTensorStep, NamesWhatIsNotSupported) {
  const auto cpu = OpenDevice("cpu");
  EXPECT_EQ(WhyNoTensorStep({}, *cpu), "");
  EXPECT_NE(WhyNoTensorStep({.kind = "mlp"}, *cpu).find("resnet_fc"), std::string::npos);
}

// The passes on their own.
class LayerPasses : public testing::TestWithParam<std::tuple<std::int64_t, at::ScalarType>> {
 protected:
  static constexpr float kEpsilon = TestLayer::kEpsilon;

  std::int64_t width() const { return std::get<0>(GetParam()); }
  at::ScalarType type() const { return std::get<1>(GetParam()); }

  TestLayerResult Run(Norm norm) const { return RunTestLayer(HostPassRunner(), norm, layer_); }

  // The same by LibTorch's operators and autograd, in fp32.
  template <class Operator>
  TestLayerResult ByOperators(const Operator& normalise) const {
    const auto leaf = [](const at::Tensor& of) {
      return of.to(at::kFloat).detach().clone().set_requires_grad(true);
    };
    const at::Tensor z = leaf(layer_.z), skip = leaf(layer_.skip), scale = leaf(layer_.scale),
                     shift = leaf(layer_.shift);
    const at::Tensor y = (normalise(z, scale, shift) + skip).relu();
    y.backward(layer_.y_gradient.to(at::kFloat));
    return {.y = y.detach(),
            .z_gradient = z.grad(),
            .skip_gradient = skip.grad(),
            .scale_gradient = scale.grad(),
            .shift_gradient = shift.grad(),
            .inverse = {}};
  }

  void ExpectNear(const at::Tensor& actual, const at::Tensor& expected, const char* what) const {
    if (!expected.defined()) return;
    const double tolerance = type() == at::kFloat ? 2e-5 : 2e-2;
    const double error = (actual.to(at::kFloat) - expected).norm().item<double>();
    EXPECT_LE(error, tolerance * expected.norm().item<double>()) << what;
  }
  void ExpectNear(const TestLayerResult& actual, const TestLayerResult& expected) const {
    ExpectNear(actual.y, expected.y, "y");
    ExpectNear(actual.z_gradient, expected.z_gradient, "gradient of z");
    ExpectNear(actual.skip_gradient, expected.skip_gradient, "gradient of skip");
    ExpectNear(actual.scale_gradient, expected.scale_gradient, "gradient of scale");
    ExpectNear(actual.shift_gradient, expected.shift_gradient, "gradient of shift");
  }

  at::Generator generator_ = InitialWeights(/*seed=*/1);
  const TestLayer layer_{width(), type(), generator_};
};

TEST_P(LayerPasses, LayerNormalisationIsThatOfOperators) {
  ExpectNear(Run(Norm::kLayer), ByOperators([&](const at::Tensor& z, const at::Tensor& scale,
                                                const at::Tensor& shift) {
               return at::layer_norm(z, {width()}, scale, shift, kEpsilon);
             }));
}

TEST_P(LayerPasses, RmsNormIsThatOfOperators) {
  ExpectNear(Run(Norm::kRms), ByOperators([&](const at::Tensor& z, const at::Tensor& scale,
                                              const at::Tensor& /*shift*/) {
               return at::rms_norm(z, {width()}, scale, kEpsilon);
             }));
}

TEST_P(LayerPasses, BatchNormalisationIsThatOfOperators) {
  const at::Tensor mean = at::zeros({width()}), var = at::ones({width()});
  ExpectNear(Run(Norm::kBatch), ByOperators([&](const at::Tensor& z, const at::Tensor& scale,
                                                const at::Tensor& shift) {
               return at::batch_norm(z + layer_.bias, scale, shift, mean, var, /*training=*/true,
                                     0.1, kEpsilon, /*cudnn_enabled=*/false);
             }));
  EXPECT_TRUE(layer_.running_mean.allclose(mean, /*rtol=*/1e-4, /*atol=*/1e-5));
  EXPECT_TRUE(layer_.running_var.allclose(var, /*rtol=*/1e-4, /*atol=*/1e-5));
}

// The deviation would be wrong if squares were added up as they are.
TEST_P(LayerPasses, BatchNormalisationKeepsDigitsFarFromZero) {
  if (type() != at::kFloat) return;
  layer_.z.add_(1000);
  const at::Tensor expected =
      (layer_.z.to(at::kDouble).var(0, /*unbiased=*/false) + kEpsilon).rsqrt().to(at::kFloat);
  EXPECT_TRUE(Run(Norm::kBatch).inverse.allclose(expected, /*rtol=*/1e-3));
}

TEST_P(LayerPasses, NanStaysNan) {
  layer_.z[3][0] = std::nan("");
  for (const Norm norm : {Norm::kLayer, Norm::kBatch, Norm::kRms}) {
    EXPECT_TRUE(Run(norm).y[3][0].isnan().item<bool>());
  }
}

INSTANTIATE_TEST_SUITE_P(Every, LayerPasses,
                         testing::Combine(testing::Values(6, 33, 64, 200),
                                          testing::Values(at::kFloat, at::kBFloat16)));

TEST(AdamPass, TakesTheStepsOfOperators) {
  at::Generator generator = InitialWeights(/*seed=*/1);
  for (const bool decoupled : {false, true}) {
    const TestAdam adam(10'001, generator);
    std::vector<at::Tensor> x = {adam.x.clone()}, mean = {adam.mean.clone()},
                            mean_square = {adam.mean_square.clone()}, steps = {at::zeros({})};
    for (int i = 0; i < 3; ++i) {
      const std::vector<at::Tensor> gradients = {at::randn({10'001}, generator)};
      adam.Step(HostPassRunner(), gradients[0], decoupled);
      steps[0].add_(1);
      if (decoupled) {
        at::_fused_adamw_(x, gradients, mean, mean_square, {}, steps, 0.01, 0.9, 0.999, 0.1, 1e-8,
                          /*amsgrad=*/false, /*maximize=*/false);
      } else {
        at::_fused_adam_(x, gradients, mean, mean_square, {}, steps, 0.01, 0.9, 0.999, 0.1, 1e-8,
                         /*amsgrad=*/false, /*maximize=*/false);
      }
    }
    EXPECT_TRUE(adam.x.allclose(x[0], /*rtol=*/1e-5, /*atol=*/1e-6));
    EXPECT_TRUE(adam.copies.equal(adam.x.to(at::kBFloat16)));
  }
}

}  // namespace
}  // namespace tandem
