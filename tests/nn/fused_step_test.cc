// Compares the gradients of FusedStep with those of autograd.
#include "nn/fused_step.h"

#include <ATen/ops/mse_loss.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "nn/optimizer.h"
#include "nn/tensor_file.h"
#include "nn/threads.h"
#include "support/temp_folder.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// More rows than a group, not a multiple of a tile, and odd, so that the last pair has one row. A
// multiple of 3, the number of parts.
constexpr std::int64_t kRows = 735;
constexpr InputLayout kInput{.positions = 6, .depth = 4};
constexpr std::int64_t kOutputs = 3;

struct Gradients {
  double loss;
  StateDict of;
};

// The distance of all gradients from others, relative to the norm of the others.
double Distance(const Gradients& gradients, const Gradients& from) {
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < from.of.size(); ++i) {
    EXPECT_EQ(gradients.of[i].first, from.of[i].first);
    EXPECT_EQ(gradients.of[i].second.sizes(), from.of[i].second.sizes());
    const at::Tensor error = gradients.of[i].second - from.of[i].second;
    difference += error.square().sum().item<double>();
    size += from.of[i].second.square().sum().item<double>();
  }
  return std::sqrt(difference / size);
}

class FusedGradients : public testing::Test {
 protected:
  explicit FusedGradients(NetworkConfig network = {.width = 32, .blocks = 2})
      : spec_{.input = kInput, .layers = std::move(network), .outputs = kOutputs} {}

  void SetUp() override {
    for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
      const std::string why = WhyNotFused(spec_.layers, precision, c10::kCPU);
      if (!why.empty()) GTEST_SKIP() << why;
    }
  }

  Gradients Fused(Precision precision, int threads = 1, std::int64_t parts = 1) const {
    const ScopedThreads scoped(threads);
    ResNetFC net(spec_, /*seed=*/1);
    TrainingConfig config;
    config.precision = precision;
    config.accumulation_steps = parts;
    const auto step = MakeFusedStep(net, config);
    step->SetGradients(inputs_, targets_ + 1, {});  // must leave no trace in the next gradients
    const at::Tensor loss = step->SetGradients(inputs_, targets_, {});
    return {loss.item<double>(), GradientsOf(net)};
  }

  Gradients Autograd(Precision precision) const {
    const ScopedThreads scoped(1);
    ResNetFC net(spec_, /*seed=*/1);
    const bool bf16 = precision == Precision::kBf16;
    const OneHot one_hot(kInput, bf16 ? at::kBFloat16 : at::kFloat, c10::kCPU);
    at::Tensor outputs;
    {
      const ScopedAutocast autocast(c10::kCPU, bf16);
      outputs = net.Forward(one_hot(inputs_));
    }
    const at::Tensor loss = at::mse_loss(outputs, targets_);
    loss.backward();
    return {loss.item<double>(), GradientsOf(net)};
  }

  static StateDict GradientsOf(const ResNetFC& net) {
    StateDict gradients;
    for (const auto& item : net.named_parameters()) {
      gradients.emplace_back(item.key(), item.value().grad().clone());
    }
    return gradients;
  }

  const NetworkSpec spec_;
  at::Generator generator_ = InitialWeights(/*seed=*/1);  // the same numbers in every test
  const at::Tensor inputs_ =
      at::randint(0, kInput.depth, {kRows, kInput.positions}, generator_, at::kByte);
  const at::Tensor targets_ = at::randn({kRows, kOutputs}, generator_) * 3 + 5;
};

class FusedNetwork : public FusedGradients,
                     public testing::WithParamInterface<std::tuple<Norm, Activation, int>> {
 protected:
  FusedNetwork()
      : FusedGradients({.stem_width = std::get<2>(GetParam()),
                        .width = 32,
                        .blocks = 2,
                        .norm = std::get<0>(GetParam()),
                        .activation = std::get<1>(GetParam())}) {}
};

TEST_P(FusedNetwork, Fp32GradientsAreThoseOfAutograd) {
  const Gradients expected = Autograd(Precision::kFp32);
  const Gradients fused = Fused(Precision::kFp32);
  EXPECT_NEAR(fused.loss, expected.loss, 1e-5 * expected.loss);
  EXPECT_LT(Distance(fused, expected), 1e-5);
}

// Autograd in bf16 rounds more often, so its error is the measure.
TEST_P(FusedNetwork, Bf16GradientsAreAsNearToFp32AsThoseOfAutograd) {
  const Gradients exact = Autograd(Precision::kFp32);
  const Gradients fused = Fused(Precision::kBf16);
  EXPECT_NEAR(fused.loss, exact.loss, 0.01 * exact.loss);
  EXPECT_LT(Distance(fused, exact), 1.25 * Distance(Autograd(Precision::kBf16), exact));
}

INSTANTIATE_TEST_SUITE_P(
    Every, FusedNetwork,
    testing::Combine(testing::Values(Norm::kNone, Norm::kBatch, Norm::kLayer, Norm::kRms),
                     testing::Values(Activation::kRelu, Activation::kLeakyRelu, Activation::kSilu),
                     testing::Values(0, 40)));

TEST_F(FusedGradients, AreTheSameOnAnyNumberOfThreads) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    const Gradients on_one = Fused(precision, /*threads=*/1);
    for (const int threads : {2, 3, 8}) {
      const Gradients on_several = Fused(precision, threads);
      EXPECT_EQ(on_several.loss, on_one.loss);
      EXPECT_EQ(Distance(on_several, on_one), 0) << threads;
    }
  }
}

// The network of DeepXube's resnet_fc.
class FusedDeepXubeNetwork : public FusedGradients {
 protected:
  FusedDeepXubeNetwork()
      : FusedGradients(
            {.width = 32, .blocks = 2, .norm = Norm::kBatch, .input_layer = InputLayer::kLinear}) {}
};

TEST_F(FusedDeepXubeNetwork, GradientsAreThoseOfAutograd) {
  const Gradients expected = Autograd(Precision::kFp32);
  const Gradients fused = Fused(Precision::kFp32);
  EXPECT_NEAR(fused.loss, expected.loss, 1e-5 * expected.loss);
  EXPECT_LT(Distance(fused, expected), 1e-5);
}

TEST_F(FusedDeepXubeNetwork, GradientsAreTheSameOnAnyNumberOfThreads) {
  const Gradients on_one = Fused(Precision::kBf16, /*threads=*/1);
  for (const int threads : {2, 3, 8}) {
    const Gradients on_several = Fused(Precision::kBf16, threads);
    EXPECT_EQ(on_several.loss, on_one.loss);
    EXPECT_EQ(Distance(on_several, on_one), 0) << threads;
  }
}

TEST_F(FusedDeepXubeNetwork, RunningStatisticsAreThoseOfAutograd) {
  ResNetFC by_autograd(spec_, /*seed=*/1);
  ResNetFC by_fused(spec_, /*seed=*/1);
  const auto step = MakeFusedStep(by_fused, {});
  const OneHot one_hot(kInput, at::kFloat, c10::kCPU);
  for (int i = 0; i < 3; ++i) {
    by_autograd.Forward(one_hot(inputs_));
    step->SetGradients(inputs_, targets_, {});
  }
  const std::vector<at::Tensor> expected = by_autograd.buffers();
  const std::vector<at::Tensor> actual = by_fused.buffers();
  ASSERT_EQ(expected.size(), 8U);  // a mean and a variance of each of four layers
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(actual[i].allclose(expected[i], /*rtol=*/1e-4, /*atol=*/1e-5)) << i;
  }
}

TEST_F(FusedGradients, OfPartsOfABatchAreThoseOfTheWholeBatch) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    const Gradients whole = Fused(precision);
    const Gradients parts = Fused(precision, /*threads=*/2, /*parts=*/3);
    EXPECT_NEAR(parts.loss, whole.loss, 1e-5 * whole.loss);
    EXPECT_LT(Distance(parts, whole), 1e-5);
  }
}

TEST_F(FusedGradients, MovingParametersKeepsTheirNamesShapesAndValues) {
  ResNetFC before(spec_, /*seed=*/1);
  ResNetFC net(spec_, /*seed=*/1);
  MakeFusedStep(net, {});
  const StateDict expected = StateDictOf(before);
  const StateDict moved = StateDictOf(net);
  ASSERT_EQ(moved.size(), expected.size());
  for (std::size_t i = 0; i < moved.size(); ++i) {
    EXPECT_EQ(moved[i].first, expected[i].first);
    EXPECT_TRUE(moved[i].second.equal(expected[i].second)) << moved[i].first;
  }
}

TEST_F(FusedGradients, MovedParametersAreSavedAsBefore) {
  const TempFolder folder;
  const auto save = [&](const std::string& name, const ResNetFC& net) {
    WriteTensorFile(folder.path() / name, ToTensorDict(StateDictOf(net)));
    return std::filesystem::file_size(folder.path() / name);
  };
  ResNetFC net(spec_, /*seed=*/1);
  const auto size = save("before", net);
  const auto step = MakeFusedStep(net, {});
  EXPECT_EQ(save("moved", net), size);
  ResNetFC read(spec_, /*seed=*/2);
  MakeFusedStep(read, {});
  LoadStateDict(ReadTensorFile(folder.path() / "moved"), StateDictOf(read), "moved");
  EXPECT_EQ(WeightsSha256(StateDictOf(read)), WeightsSha256(StateDictOf(net)));
}

TEST_F(FusedGradients, EveryOptimizerTakesTheStepOfAutograd) {
  for (const Choice<OptimizerKind>& optimizer : kOptimizers) {
    // A large epsilon, because Adam divides gradients near 0 by their size.
    const OptimizerConfig config{
        .name = optimizer.value, .max_grad_norm = 1, .weight_decay = 0.1, .epsilon = 1};
    ResNetFC by_autograd(spec_, /*seed=*/1);
    ResNetFC by_fused(spec_, /*seed=*/1);
    const auto step = MakeFusedStep(by_fused, {});
    Optimizer first(by_autograd.parameters(), config);
    Optimizer second(by_fused.parameters(), config);
    const OneHot one_hot(kInput, at::kFloat, c10::kCPU);
    for (int i = 0; i < 3; ++i) {
      at::mse_loss(by_autograd.Forward(one_hot(inputs_)), targets_).backward();
      first.Step(0.01);
      step->SetGradients(inputs_, targets_, {});
      second.Step(0.01);
    }
    const StateDict expected = StateDictOf(by_autograd);
    const StateDict actual = StateDictOf(by_fused);
    for (std::size_t j = 0; j < expected.size(); ++j) {
      EXPECT_TRUE(actual[j].second.allclose(expected[j].second, /*rtol=*/0, /*atol=*/1e-4))
          << optimizer.name << ": " << expected[j].first;
    }
  }
}

TEST_F(FusedGradients, ThrowIfAByteOfTheInputIsNoValue) {
  ResNetFC net(spec_, /*seed=*/1);
  const auto step = MakeFusedStep(net, {});
  const at::Tensor inputs = inputs_.clone();
  inputs[kRows - 1][2] = kInput.depth;
  EXPECT_THROW(step->SetGradients(inputs, targets_, {}), Error);
}

TEST(WhyNotFused, NamesWhatIsNotSupported) {
  const auto why = [](const NetworkConfig& network, Precision precision = Precision::kFp32) {
    return WhyNotFused(network, precision, c10::kCPU);
  };
  EXPECT_NE(why({.kind = "resnet_2d"}).find("resnet_fc"), std::string::npos);
  EXPECT_NE(why({.kind = "mlp"}).find("resnet_fc"), std::string::npos);
  EXPECT_NE(why({.width = 33}, Precision::kBf16).find("even"), std::string::npos);
  EXPECT_NE(WhyNotFused({}, Precision::kFp32, c10::kCUDA).find("CPU"), std::string::npos);
}

}  // namespace
}  // namespace tandem
