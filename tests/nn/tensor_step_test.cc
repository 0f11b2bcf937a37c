// Compares the tensor step with autograd, and its passes with LibTorch's operators.
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "nn/cpu/cpu_backend.h"
#include "nn/gpu/gpu_backend.h"
#include "nn/optimizer.h"
#include "nn/resnet_fc.h"
#include "nn/tensor_file.h"
#include "support/layer_passes.h"
#include "support/temp_folder.h"
#include "support/training_step.h"

namespace tandem {
namespace {

// More rows than a block of a pass over columns, and not a multiple of its rows of threads. A
// multiple of 3, the number of parts.
constexpr std::int64_t kTensorRows = 297;
constexpr InputLayout kTensorInput{.positions = 7, .depth = 5};  // 35 features, so 5 more are added

class TensorGradients : public TrainingStepTest {
 protected:
  explicit TensorGradients(NetworkConfig network = SmallNetwork())
      : TrainingStepTest(kTensorRows, kTensorInput, std::move(network)) {}

  std::unique_ptr<GradientStep> MakeStep(ResNetFC& net,
                                         const TrainingConfig& config) const override {
    return MakeTensorStep(net, config, *cpu_);
  }

  const std::unique_ptr<Device> cpu_ = OpenDevice("cpu");
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

TEST_P(TensorNetwork, Fp32GradientsAreThoseOfAutograd) { ExpectFp32GradientsOfAutograd(); }

// Both errors vary by a third.
TEST_P(TensorNetwork, Bf16GradientsAreAsNearToFp32AsThoseOfAutograd) {
  ExpectBf16GradientsNearFp32(/*most=*/1.5);
}

INSTANTIATE_TEST_SUITE_P(
    Every, TensorNetwork,
    testing::Combine(testing::Values(Norm::kNone, Norm::kBatch, Norm::kLayer, Norm::kRms),
                     testing::Values(Activation::kRelu, Activation::kLeakyRelu),
                     testing::Values(0, 40), testing::Values(32, 33)));

// Its input layer has no activation.
class TensorDeepXubeNetwork : public TensorGradients,
                              public testing::WithParamInterface<Activation> {
 protected:
  TensorDeepXubeNetwork() : TensorGradients(NetworkWith(GetParam())) {}

 private:
  static NetworkConfig NetworkWith(Activation activation) {
    NetworkConfig network = SmallDeepXubeNetwork();
    network.activation = activation;
    return network;
  }
};

TEST_P(TensorDeepXubeNetwork, GradientsAreThoseOfAutograd) { ExpectFp32GradientsOfAutograd(); }

TEST_P(TensorDeepXubeNetwork, RunningStatisticsAreThoseOfAutograd) {
  ExpectRunningStatisticsOfAutograd();
}

INSTANTIATE_TEST_SUITE_P(Every, TensorDeepXubeNetwork,
                         testing::Values(Activation::kRelu, Activation::kLeakyRelu));

class TensorMlp : public TensorGradients, public testing::WithParamInterface<Norm> {
 protected:
  TensorMlp() : TensorGradients(SmallMlp(GetParam())) {}
};

TEST_P(TensorMlp, Fp32GradientsAreThoseOfAutograd) { ExpectFp32GradientsOfAutograd(); }

TEST_P(TensorMlp, Bf16GradientsAreAsNearToFp32AsThoseOfAutograd) {
  ExpectBf16GradientsNearFp32(/*most=*/1.5);
}

INSTANTIATE_TEST_SUITE_P(Every, TensorMlp,
                         testing::Values(Norm::kNone, Norm::kBatch, Norm::kLayer, Norm::kRms));

TEST_F(TensorGradients, OfPartsOfABatchAreThoseOfTheWholeBatch) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    const Gradients whole = ByStep(precision);
    const Gradients parts = ByStep(precision, /*parts=*/3);
    EXPECT_NEAR(parts.loss, whole.loss, 1e-5 * whole.loss);
    // On a CPU, the gradients of weights of each part are rounded to bf16.
    EXPECT_LT(Distance(parts.tensors, whole.tensors), precision == Precision::kFp32 ? 1e-5 : 5e-3);
  }
}

TEST_F(TensorGradients, MovedParametersAreSavedAsBefore) {
  const TempFolder folder;
  ResNetFC net(spec_, /*seed=*/1);
  WriteTensorFile(folder.path() / "before", net.State());
  const auto step = MakeTensorStep(net, {}, *cpu_);
  WriteTensorFile(folder.path() / "moved", net.State());
  EXPECT_EQ(std::filesystem::file_size(folder.path() / "moved"),
            std::filesystem::file_size(folder.path() / "before"));
  EXPECT_EQ(WeightsSha256(net.State()), WeightsSha256(ResNetFC(spec_, /*seed=*/1).State()));
}

TEST_F(TensorGradients, ThrowIfAByteOfTheInputIsNoValue) { ExpectErrorIfAByteIsNoValue(); }

class TensorSteps : public TensorGradients,
                    public testing::WithParamInterface<std::tuple<OptimizerConfig, bool>> {
 protected:
  // Steps at different rates.
  void Train(GradientStep& step, Optimizer& optimizer, int steps) const {
    for (int i = 0; i < steps; ++i) {
      step.Step(inputs_, targets_, {}, {.optimizer = optimizer, .learning_rate = 0.01 / (i + 1)});
    }
  }
};

TEST_P(TensorSteps, GiveTheWeightsOfAutograd) {
  const auto& [config, may_capture] = GetParam();
  ResNetFC by_autograd(spec_, /*seed=*/1);
  Optimizer first(by_autograd.parameters(), config);
  for (int i = 0; i < 6; ++i) {
    LossByAutograd(by_autograd, Precision::kFp32);
    first.Step(0.01 / (i + 1));
  }
  ResNetFC by_tensors(spec_, /*seed=*/1);
  const auto step = MakeTensorStep(by_tensors, {.may_capture = may_capture}, *cpu_);
  Optimizer second(by_tensors.parameters(), config, step->flat(), cpu_->passes());
  Train(*step, second, 6);
  ExpectSameWeights(by_tensors.State(), by_autograd.State(), /*tolerance=*/1e-4);
}

TEST_P(TensorSteps, WithAReductionAreThoseWithout) {
  const auto& [config, may_capture] = GetParam();
  const auto after = [&, &config = config, &may_capture = may_capture](bool reduces) {
    ResNetFC net(spec_, /*seed=*/1);
    const auto step = MakeTensorStep(net, {.may_capture = may_capture}, *cpu_);
    Optimizer optimizer(net.parameters(), config, step->flat(), cpu_->passes());
    int reductions = 0;
    for (int i = 0; i < 3; ++i) {
      GradientStep::Update update{.optimizer = optimizer, .learning_rate = 0.01};
      if (reduces) {
        update.reduce = [&](const at::Tensor& loss) {
          for (const at::Tensor& parameter : net.parameters()) {
            EXPECT_TRUE(parameter.grad().defined());
          }
          ++reductions;
          return loss;
        };
      }
      step->Step(inputs_, targets_, {}, update);
    }
    EXPECT_EQ(reductions, reduces ? 3 : 0);
    return WeightsSha256(net.State());
  };
  EXPECT_EQ(after(true), after(false));
}

TEST_P(TensorSteps, KeepCopiesOfTheWeightsInBf16) {
  const auto& [config, may_capture] = GetParam();
  ResNetFC net(spec_, /*seed=*/1);
  const auto step =
      MakeTensorStep(net, {.precision = Precision::kBf16, .may_capture = may_capture}, *cpu_);
  Optimizer optimizer(net.parameters(), config, step->flat(), cpu_->passes());
  Train(*step, optimizer, 3);
  const FlatParameters& parameters = *step->flat();
  EXPECT_TRUE(parameters.copies().equal(parameters.values().to(at::kBFloat16)));
}

TEST_F(TensorGradients, OptimizerStepAfterThemWritesTheCopiesInBf16) {
  ResNetFC net(spec_, /*seed=*/1);
  const auto step = MakeTensorStep(net, {.precision = Precision::kBf16}, *cpu_);
  Optimizer optimizer(net.parameters(), {}, step->flat(), cpu_->passes());
  const FlatParameters& parameters = *step->flat();
  step->SetGradients(inputs_, targets_, {});
  const at::Tensor before = parameters.copies().clone();
  optimizer.Step(/*learning_rate=*/0.1);
  EXPECT_FALSE(parameters.copies().equal(before));
  EXPECT_TRUE(parameters.copies().equal(parameters.values().to(at::kBFloat16)));
}

// Loading a checkpoint changes weights in this way.
TEST_P(TensorSteps, UseWeightsThatChangedSinceTheLastStep) {
  const auto& [config, may_capture] = GetParam();
  const auto loss_after = [&, &config = config, &may_capture = may_capture](bool loads) {
    ResNetFC net(spec_, /*seed=*/1);
    const auto step =
        MakeTensorStep(net, {.precision = Precision::kBf16, .may_capture = may_capture}, *cpu_);
    Optimizer optimizer(net.parameters(), config, step->flat(), cpu_->passes());
    const ResNetFC other(spec_, /*seed=*/2);
    const StateDict from = other.State();
    Train(*step, optimizer, loads ? 2 : 0);
    {
      const c10::NoGradGuard no_grad;
      const StateDict into = net.State();
      for (std::size_t i = 0; i < from.size(); ++i) into[i].second.copy_(from[i].second);
    }
    return step->Step(inputs_, targets_, {}, {.optimizer = optimizer, .learning_rate = 0.01})
        .item<double>();
  };
  EXPECT_EQ(loss_after(true), loss_after(false));
}

INSTANTIATE_TEST_SUITE_P(
    Every, TensorSteps,
    testing::Combine(testing::Values(
                         // A large epsilon, because Adam divides gradients near 0 by their size.
                         OptimizerConfig{.weight_decay = 0.1, .epsilon = 1},
                         OptimizerConfig{.max_grad_norm = 1, .epsilon = 1}),
                     testing::Values(false, true)));

TEST(WhyNoStep, NamesWhatTheTensorStepDoesNotSupport) {
  const auto cpu = OpenDevice("cpu");
  const auto why = [&](const NetworkConfig& network) {
    Config config{.network = network};
    config.train.backend = BackendKind::kGpu;
    config.train.precision = Precision::kFp32;
    return WhyNoStep(config, *cpu);
  };
  EXPECT_EQ(why({}), "");
  EXPECT_EQ(why({.kind = "mlp"}), "");
  EXPECT_NE(why({.kind = "resnet_2d"}).find("resnet_fc"), std::string::npos);
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
            .inverse = {},
            .quantised = {}};
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
  if (type() != at::kFloat) GTEST_SKIP() << "bf16 has too few digits for values near 1000";
  layer_.z.add_(1000);
  const at::Tensor expected =
      (layer_.z.to(at::kDouble).var(0, /*unbiased=*/false) + kEpsilon).rsqrt().to(at::kFloat);
  EXPECT_TRUE(Run(Norm::kBatch).inverse.allclose(expected, /*rtol=*/1e-3));
}

TEST_P(LayerPasses, NanStaysNan) {
  layer_.z[3][0] = std::nan("");
  for (const Norm norm : {Norm::kLayer, Norm::kBatch, Norm::kRms}) {
    const TestLayerResult result = Run(norm);
    EXPECT_TRUE(result.y[3][0].isnan().item<bool>());
    EXPECT_TRUE(result.quantised.to(at::kFloat)[3][0].isnan().item<bool>());
  }
}

TEST_P(LayerPasses, NumbersInE4m3AreTheResultsDividedByTheirScale) {
  for (const Norm norm : {Norm::kLayer, Norm::kBatch, Norm::kRms}) {
    const TestLayerResult result = Run(norm);
    const at::Tensor divided =
        (result.y.to(at::kFloat) * (1 / TestLayer::kQuantisedScale)).clamp_max(kLargestOfE4m3);
    EXPECT_EQ(divided.max().item<float>(), kLargestOfE4m3);  // some are too large
    const at::Tensor quantised = result.quantised.to(at::kFloat);
    if (type() == at::kFloat) {
      EXPECT_TRUE(quantised.equal(divided.to(at::kFloat8_e4m3fn).to(at::kFloat)));
    } else {  // y was rounded before
      EXPECT_TRUE(quantised.allclose(divided, /*rtol=*/0.07, /*atol=*/0.002));
    }
  }
}

TEST_P(LayerPasses, OneHotIsThatOfOperators) {
  constexpr std::int64_t kTensorRows = 141, kDepth = 3, kPadding = 2;
  const at::Tensor values = at::randint(0, kDepth, {kTensorRows, width()}, generator_, at::kByte);
  const at::Tensor features = RunOneHot(HostPassRunner(), values, kDepth, kPadding, type());
  EXPECT_TRUE(features.narrow(1, 0, kPadding).eq(0).all().item<bool>());
  const at::Tensor expected =
      at::one_hot(values.to(at::kLong), kDepth).view({kTensorRows, width() * kDepth});
  EXPECT_TRUE(features.narrow(1, kPadding, width() * kDepth).to(at::kLong).equal(expected));
}

TEST_P(LayerPasses, TheOutputLayerIsThatOfOperators) {
  for (const std::int64_t outputs : {1, 5}) {
    const TestOutput output(width(), outputs, type(), generator_);
    const TestOutputResult actual = output.Run(HostPassRunner());
    const at::Tensor x = output.x.to(at::kFloat);
    ExpectNear(actual.y, at::addmm(output.bias, x, output.weight.t()), "y");
    ExpectNear(actual.x_gradient, at::mm(output.y_gradient, output.weight), "gradient of x");
    const at::Tensor gradient = at::mm(output.y_gradient.t(), x);
    ExpectNear(actual.weight_gradient, gradient * 2, "gradient of the weights, added twice");
  }
}

// The sums over rows have more parts than a block has rows of threads.
TEST(LayerPassesOfManyRows, MomentsOfBatchNormalisationAreThoseOfAllRows) {
  constexpr std::int64_t kTensorRows = 2001, kWidth = 37;
  at::Generator generator = InitialWeights(/*seed=*/1);
  const at::Tensor z = at::randn({kTensorRows, kWidth}, generator).add_(3);
  const at::Tensor partial = at::empty({16 * 2 * kWidth}), bias = at::zeros({kWidth}),
                   mean = at::zeros({kWidth}), inverse = at::zeros({kWidth}),
                   running_mean = at::zeros({kWidth}), running_var = at::zeros({kWidth});
  const HostPassRunner runner;
  runner.Run(BatchMoments<float>{.rows = kTensorRows,
                                 .width = kWidth,
                                 .z = DataOf<float>(z),
                                 .partial = DataOf<float>(partial)});
  runner.Run(FinishBatchMoments<float>{.rows = kTensorRows,
                                       .width = kWidth,
                                       .z = DataOf<float>(z),
                                       .partial = DataOf<float>(partial),
                                       .bias = DataOf<float>(bias),
                                       .epsilon = 0,
                                       .momentum = 1,
                                       .mean = DataOf<float>(mean),
                                       .inverse = DataOf<float>(inverse),
                                       .running_mean = DataOf<float>(running_mean),
                                       .running_var = DataOf<float>(running_var)});
  EXPECT_TRUE(mean.allclose(z.mean(0), /*rtol=*/1e-5));
  EXPECT_TRUE(running_var.allclose(z.var(0), /*rtol=*/1e-4));
}

INSTANTIATE_TEST_SUITE_P(Every, LayerPasses,
                         testing::Combine(testing::Values(6, 33, 64, 200),
                                          testing::Values(at::kFloat, at::kBFloat16)));

TEST(AdamPass, TakesTheStepsOfOperators) {
  at::Generator generator = InitialWeights(/*seed=*/1);
  const TestAdam adam(10'001, generator);
  std::vector<at::Tensor> x = {adam.x.clone()}, mean = {adam.mean.clone()},
                          mean_square = {adam.mean_square.clone()}, steps = {at::zeros({})};
  for (int i = 0; i < 3; ++i) {
    const std::vector<at::Tensor> gradients = {at::randn({10'001}, generator)};
    adam.Step(HostPassRunner(), gradients[0]);
    steps[0].add_(1);
    at::_fused_adamw_(x, gradients, mean, mean_square, {}, steps, 0.01, 0.9, 0.999, 0.1, 1e-8,
                      /*amsgrad=*/false, /*maximize=*/false);
  }
  EXPECT_TRUE(adam.x.allclose(x[0], /*rtol=*/1e-5, /*atol=*/1e-6));
  EXPECT_TRUE(adam.copies.equal(adam.x.to(at::kBFloat16)));
}

}  // namespace
}  // namespace tandem
