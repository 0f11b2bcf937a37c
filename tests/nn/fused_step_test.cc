// Compares the gradients of the fused step with those of autograd.
#include <ATen/ops/mse_loss.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/machine.h"
#include "nn/cpu/cpu_backend.h"
#include "nn/optimizer.h"
#include "nn/tensor_file.h"
#include "support/temp_folder.h"
#include "support/training_step.h"

namespace tandem {
namespace {

// More rows than a group, not a multiple of a tile, and odd, so that the last pair has one row. A
// multiple of 3, the number of parts.
constexpr std::int64_t kStepRows = 735;
constexpr InputLayout kStepInput{.positions = 6, .depth = 4};

class FusedGradients : public TrainingStepTest {
 protected:
  explicit FusedGradients(NetworkConfig network = SmallNetwork())
      : TrainingStepTest(kStepRows, kStepInput, std::move(network)) {}

  void SetUp() override {
    for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
      const std::string why = WhyNotFused(spec_.layers, precision, c10::kCPU);
      if (!why.empty()) GTEST_SKIP() << why;
    }
  }

  std::unique_ptr<GradientStep> MakeStep(ResNetFC& net,
                                         const TrainingConfig& config) const override {
    return MakeFusedStep(net, config);
  }

  void ExpectGradientsOfPartsOfABatch() const {
    for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
      const Gradients whole = ByStep(precision);
      const Gradients parts = ByStep(precision, /*parts=*/3);
      EXPECT_NEAR(parts.loss, whole.loss, 1e-5 * whole.loss);
      EXPECT_LT(Distance(parts.tensors, whole.tensors), 1e-5);
    }
  }

  void ExpectSameGradientsOnAnyNumberOfThreads(Precision precision) const {
    const auto on = [&](int threads) {
      const ScopedThreads scoped(threads);
      return ByStep(precision);
    };
    const Gradients on_one = on(1);
    for (const int threads : {2, 3, 8}) {
      const Gradients on_several = on(threads);
      EXPECT_EQ(on_several.loss, on_one.loss);
      EXPECT_EQ(Distance(on_several.tensors, on_one.tensors), 0) << threads;
    }
  }
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

TEST_P(FusedNetwork, Fp32GradientsAreThoseOfAutograd) { ExpectFp32GradientsOfAutograd(); }

TEST_P(FusedNetwork, Bf16GradientsAreAsNearToFp32AsThoseOfAutograd) {
  ExpectBf16GradientsNearFp32(/*most=*/1.25);
}

INSTANTIATE_TEST_SUITE_P(
    Every, FusedNetwork,
    testing::Combine(testing::Values(Norm::kNone, Norm::kBatch, Norm::kLayer, Norm::kRms),
                     testing::Values(Activation::kRelu, Activation::kLeakyRelu),
                     testing::Values(0, 40)));

TEST_F(FusedGradients, AreTheSameOnAnyNumberOfThreads) {
  ExpectSameGradientsOnAnyNumberOfThreads(Precision::kFp32);
  ExpectSameGradientsOnAnyNumberOfThreads(Precision::kBf16);
}

// Wide enough that sums of the first layer are kept in registers, and some are left over.
class FusedWideNetwork : public FusedGradients {
 protected:
  FusedWideNetwork() : FusedGradients({.width = 416, .blocks = 1, .norm = Norm::kLayer}) {}
};

TEST_F(FusedWideNetwork, Fp32GradientsAreThoseOfAutograd) { ExpectFp32GradientsOfAutograd(); }

TEST_F(FusedWideNetwork, Bf16GradientsAreAsNearToFp32AsThoseOfAutograd) {
  ExpectBf16GradientsNearFp32(/*most=*/1.25);
}

TEST_F(FusedWideNetwork, GradientsOfPartsOfABatchAreThoseOfTheWholeBatch) {
  ExpectGradientsOfPartsOfABatch();
}

// Neither units nor inputs fill registers.
class FusedUnevenNetwork : public FusedGradients {
 protected:
  FusedUnevenNetwork()
      : FusedGradients({.stem_width = 38, .width = 70, .blocks = 1, .norm = Norm::kLayer}) {}
};

TEST_F(FusedUnevenNetwork, Fp32GradientsAreThoseOfAutograd) { ExpectFp32GradientsOfAutograd(); }

TEST_F(FusedUnevenNetwork, Bf16GradientsAreAsNearToFp32AsThoseOfAutograd) {
  ExpectBf16GradientsNearFp32(/*most=*/1.25);
}

// More inputs than a product adds up at once.
class FusedNetworkWithAWideStem : public FusedGradients {
 protected:
  FusedNetworkWithAWideStem()
      : FusedGradients({.stem_width = 2100, .width = 32, .blocks = 0, .norm = Norm::kLayer}) {}
};

TEST_F(FusedNetworkWithAWideStem, Fp32GradientsAreThoseOfAutograd) {
  ExpectFp32GradientsOfAutograd();
}

// More features than a panel has, and not a multiple of it.
class FusedFirstLayer : public TrainingStepTest, public testing::WithParamInterface<bool> {
 protected:
  FusedFirstLayer()
      : TrainingStepTest(kStepRows, {.positions = 30, .depth = 5},
                         {.width = 70, .blocks = 1, .norm = Norm::kLayer}) {}

  void SetUp() override {
    const std::string why = WhyNotFused(spec_.layers, Precision::kBf16, c10::kCPU);
    if (!why.empty()) GTEST_SKIP() << why;
  }

  std::unique_ptr<GradientStep> MakeStep(ResNetFC& net,
                                         const TrainingConfig& config) const override {
    return MakeFusedStep(net, config, /*multiplies_first=*/GetParam());
  }
};

TEST_P(FusedFirstLayer, Bf16GradientsAreAsNearToFp32AsThoseOfAutograd) {
  ExpectBf16GradientsNearFp32(/*most=*/1.25);
}

TEST_P(FusedFirstLayer, GradientsOfPartsOfABatchAreThoseOfTheWholeBatch) {
  const Gradients whole = ByStep(Precision::kBf16);
  const Gradients parts = ByStep(Precision::kBf16, /*parts=*/3);
  EXPECT_NEAR(parts.loss, whole.loss, 1e-5 * whole.loss);
  EXPECT_LT(Distance(parts.tensors, whole.tensors), 1e-5);
}

TEST_P(FusedFirstLayer, GradientsAreTheSameOnAnyNumberOfThreads) {
  const auto on = [&](int threads) {
    const ScopedThreads scoped(threads);
    return ByStep(Precision::kBf16).tensors;
  };
  const StateDict on_one = on(1);
  for (const int threads : {2, 3}) EXPECT_EQ(Distance(on(threads), on_one), 0) << threads;
}

INSTANTIATE_TEST_SUITE_P(Every, FusedFirstLayer, testing::Bool());

TEST(MultipliesFirstLayer, IsForBf16AndPairsOfFeatures) {
  const InputLayout even{.positions = 6, .depth = 4};
  EXPECT_FALSE(MultipliesFirstLayer(Precision::kFp32, even));
  EXPECT_EQ(MultipliesFirstLayer(Precision::kBf16, even), CpuHas("amx_bf16"));
  EXPECT_FALSE(MultipliesFirstLayer(Precision::kBf16, {.positions = 9, .depth = 9}));
  EXPECT_FALSE(MultipliesFirstLayer(Precision::kBf16, {.positions = 20, .depth = 24}));
}

class FusedDeepXubeNetwork : public FusedGradients {
 protected:
  FusedDeepXubeNetwork() : FusedGradients(SmallDeepXubeNetwork()) {}
};

TEST_F(FusedDeepXubeNetwork, GradientsAreThoseOfAutograd) { ExpectFp32GradientsOfAutograd(); }

TEST_F(FusedDeepXubeNetwork, GradientsAreTheSameOnAnyNumberOfThreads) {
  ExpectSameGradientsOnAnyNumberOfThreads(Precision::kBf16);
}

TEST_F(FusedDeepXubeNetwork, RunningStatisticsAreThoseOfAutograd) {
  ExpectRunningStatisticsOfAutograd();
}

class FusedMlp : public FusedGradients, public testing::WithParamInterface<Norm> {
 protected:
  FusedMlp() : FusedGradients(SmallMlp(GetParam())) {}
};

TEST_P(FusedMlp, Fp32GradientsAreThoseOfAutograd) { ExpectFp32GradientsOfAutograd(); }

TEST_P(FusedMlp, Bf16GradientsAreAsNearToFp32AsThoseOfAutograd) {
  ExpectBf16GradientsNearFp32(/*most=*/1.25);
}

INSTANTIATE_TEST_SUITE_P(Every, FusedMlp,
                         testing::Values(Norm::kNone, Norm::kBatch, Norm::kLayer, Norm::kRms));

TEST_F(FusedGradients, OfPartsOfABatchAreThoseOfTheWholeBatch) { ExpectGradientsOfPartsOfABatch(); }

TEST_F(FusedGradients, AfterALargerBatchAreThoseOfTheSmallerOne) {
  constexpr std::int64_t kFew = 77;
  const at::Tensor inputs = inputs_.narrow(0, 0, kFew);
  const at::Tensor targets = targets_.narrow(0, 0, kFew);
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    TrainingConfig config;
    config.precision = precision;
    const auto gradients = [&](bool after_a_larger_batch) {
      ResNetFC net(spec_, /*seed=*/1);
      const auto step = MakeFusedStep(net, config);
      if (after_a_larger_batch) step->SetGradients(inputs_, targets_, {});
      step->SetGradients(inputs, targets, {});
      return GradientsOf(net);
    };
    EXPECT_EQ(Distance(gradients(true), gradients(false)), 0);
  }
}

TEST_F(FusedGradients, MovingParametersKeepsTheirNamesShapesAndValues) {
  ResNetFC before(spec_, /*seed=*/1);
  ResNetFC net(spec_, /*seed=*/1);
  MakeFusedStep(net, {});
  const StateDict expected = before.State();
  const StateDict moved = net.State();
  ASSERT_EQ(moved.size(), expected.size());
  for (std::size_t i = 0; i < moved.size(); ++i) {
    EXPECT_EQ(moved[i].first, expected[i].first);
    EXPECT_TRUE(moved[i].second.equal(expected[i].second)) << moved[i].first;
  }
}

TEST_F(FusedGradients, MovedParametersAreSavedAsBefore) {
  const TempFolder folder;
  const auto save = [&](const std::string& name, const ResNetFC& net) {
    WriteTensorFile(folder.path() / name, net.State());
    return std::filesystem::file_size(folder.path() / name);
  };
  ResNetFC net(spec_, /*seed=*/1);
  const auto size = save("before", net);
  const auto step = MakeFusedStep(net, {});
  EXPECT_EQ(save("moved", net), size);
  ResNetFC read(spec_, /*seed=*/2);
  MakeFusedStep(read, {});
  LoadStateDict(ReadTensorFile(folder.path() / "moved").tensors, read.State(), "moved");
  EXPECT_EQ(WeightsSha256(read.State()), WeightsSha256(net.State()));
}

TEST_F(FusedGradients, OptimizerTakesTheStepOfAutograd) {
  // A large epsilon, because Adam divides gradients near 0 by their size.
  const OptimizerConfig config{.max_grad_norm = 1, .weight_decay = 0.1, .epsilon = 1};
  ResNetFC by_autograd(spec_, /*seed=*/1);
  ResNetFC by_fused(spec_, /*seed=*/1);
  const auto step = MakeFusedStep(by_fused, {});
  Optimizer first(by_autograd.parameters(), config);
  Optimizer second(by_fused.parameters(), config);
  for (int i = 0; i < 3; ++i) {
    LossByAutograd(by_autograd, Precision::kFp32);
    first.Step(0.01);
    step->SetGradients(inputs_, targets_, {});
    second.Step(0.01);
  }
  ExpectSameWeights(by_fused.State(), by_autograd.State(), /*tolerance=*/1e-4);
}

TEST_F(FusedGradients, ThrowIfAByteOfTheInputIsNoValue) { ExpectErrorIfAByteIsNoValue(); }

TEST(WhyNotFused, NamesWhatIsNotSupported) {
  const auto why = [](const NetworkConfig& network, Precision precision = Precision::kFp32) {
    return WhyNotFused(network, precision, c10::kCPU);
  };
  EXPECT_NE(why({.kind = "resnet_2d"}).find("resnet_fc"), std::string::npos);
  EXPECT_EQ(why({.kind = "mlp", .blocks = 0}), "");
  EXPECT_NE(why({.width = 33}, Precision::kBf16).find("even"), std::string::npos);
  EXPECT_NE(WhyNotFused({}, Precision::kFp32, c10::kCUDA).find("CPU"), std::string::npos);
}

TEST(WhyNotFused, IsEmptyOnEveryCpuForAnyPrecisionOfOneHiddenLayer) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16, Precision::kInt8}) {
    EXPECT_EQ(WhyNotFused({.width = 64, .blocks = 0}, precision, c10::kCPU), "");
  }
}

}  // namespace
}  // namespace tandem
