// Compares the estimates of the fused inference copy with those of the network.
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "nn/backend.h"
#include "nn/cpu/cpu_backend.h"
#include "nn/device.h"
#include "nn/inference_net.h"
#include "nn/resnet_fc.h"
#include "nn/threads.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr InputLayout kInput{.positions = 7, .depth = 3};  // tables of 5 and of 2 positions
constexpr std::int64_t kCopyRows = 150;

NetworkSpec SpecOf(const NetworkConfig& layers) {
  return {.input = kInput, .layers = layers, .outputs = 2};
}

at::Tensor RandomBytes() {
  at::Generator generator = InitialWeights(/*seed=*/5);
  return at::randint(0, kInput.depth, {kCopyRows, kInput.positions}, generator, at::kByte);
}

// A network whose normalisations have learnt something.
std::unique_ptr<ResNetFC> Trained(const NetworkSpec& spec) {
  const ScopedThreads one(1);
  auto net = std::make_unique<ResNetFC>(spec, /*seed=*/1);
  const OneHot one_hot(kInput, at::kFloat, c10::kCPU);
  at::Generator generator = InitialWeights(/*seed=*/2);
  const at::Tensor targets = at::randn({kCopyRows, spec.outputs}, generator);
  for (int i = 0; i < 5; ++i) {
    at::mse_loss(net->Forward(one_hot(RandomBytes())), targets).backward();
    const c10::NoGradGuard no_grad;
    for (at::Tensor& parameter : net->parameters()) {
      parameter.sub_(0.05 * parameter.grad());
      parameter.mutable_grad().zero_();
    }
  }
  net->SetTraining(false);
  return net;
}

at::Tensor Exact(ResNetFC& net, const at::Tensor& bytes) {
  const ScopedThreads one(1);
  const c10::NoGradGuard no_grad;
  return net.Forward(OneHot(kInput, at::kFloat, c10::kCPU)(bytes));
}

// The root of the mean squared difference, relative to the standard deviation of `exact`.
double ErrorOf(const at::Tensor& outputs, const at::Tensor& exact) {
  return (outputs - exact).square().mean().sqrt().item<double>() / exact.std().item<double>();
}

class FusedCopies : public testing::TestWithParam<std::tuple<Norm, InputLayer, Precision>> {
 protected:
  void SetUp() override {
    const std::string why = WhyNotFused(spec_.layers, precision_, c10::kCPU);
    if (!why.empty()) GTEST_SKIP() << why;
  }

  const NetworkSpec spec_ = SpecOf({.stem_width = 0,
                                    .width = 34,
                                    .blocks = 2,
                                    .norm = std::get<Norm>(GetParam()),
                                    .input_layer = std::get<InputLayer>(GetParam())});
  const Precision precision_ = std::get<Precision>(GetParam());
};

TEST_P(FusedCopies, AreNearToTheNetworkInFp32) {
  const auto net = Trained(spec_);
  const auto copy = MakeFusedCopy(spec_, precision_);
  copy->Load(*net);
  const at::Tensor exact = Exact(*net, RandomBytes());
  const double error = ErrorOf(copy->Forward(RandomBytes()), exact);
  if (precision_ == Precision::kFp32) {
    EXPECT_LT(error, 1e-4);
  } else {
    EXPECT_LT(error, 0.1);
    EXPECT_GT(error, 1e-6);
  }
}

TEST_P(FusedCopies, GiveARowTheSameBitsInAnyBatchOnAnyThreads) {
  const auto net = Trained(spec_);
  const auto copy = MakeFusedCopy(spec_, precision_);
  copy->Load(*net);
  EXPECT_TRUE(copy->rows_are_independent());
  const at::Tensor bytes = RandomBytes();
  const at::Tensor all = copy->Forward(bytes).clone();
  const std::vector<std::pair<int, int>> ranges = {{0, 150}, {3, 1}, {17, 64}, {20, 101}};
  for (const int threads : {1, 2}) {
    const ScopedThreads scoped(threads);
    for (const auto& [first, count] : ranges) {
      EXPECT_TRUE(copy->Forward(bytes.narrow(0, first, count)).equal(all.narrow(0, first, count)))
          << first << " " << count << " on " << threads;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Every, FusedCopies,
    testing::Combine(testing::Values(Norm::kNone, Norm::kBatch, Norm::kLayer, Norm::kRms),
                     testing::Values(InputLayer::kHidden, InputLayer::kLinear),
                     testing::Values(Precision::kFp32, Precision::kBf16, Precision::kInt8)));

class FusedMlps : public testing::TestWithParam<std::tuple<Norm, Precision>> {};

TEST_P(FusedMlps, AreNearToTheNetwork) {
  const auto& [norm, precision] = GetParam();
  const NetworkSpec spec =
      SpecOf({.kind = "mlp", .stem_width = 38, .width = 34, .blocks = 2, .norm = norm});
  const std::string why = WhyNotFused(spec.layers, precision, c10::kCPU);
  if (!why.empty()) GTEST_SKIP() << why;
  const auto net = Trained(spec);
  const auto copy = MakeFusedCopy(spec, precision);
  copy->Load(*net);
  const double error = ErrorOf(copy->Forward(RandomBytes()), Exact(*net, RandomBytes()));
  EXPECT_LT(error, precision == Precision::kFp32 ? 1e-4 : 0.1);
}

INSTANTIATE_TEST_SUITE_P(
    Every, FusedMlps,
    testing::Combine(testing::Values(Norm::kNone, Norm::kBatch, Norm::kLayer, Norm::kRms),
                     testing::Values(Precision::kFp32, Precision::kBf16, Precision::kInt8)));

class FusedCopyOf : public testing::TestWithParam<Precision> {
 protected:
  void SetUp() override {
    const std::string why = WhyNotFused(spec_.layers, GetParam(), c10::kCPU);
    if (!why.empty()) GTEST_SKIP() << why;
  }

  // Widths that no product takes whole: more columns than a part, and no multiple of four.
  const NetworkSpec spec_ = SpecOf({.stem_width = 38, .width = 310, .blocks = 1});
};

TEST_P(FusedCopyOf, WideLayersAndAStemIsNearToTheNetwork) {
  const auto net = Trained(spec_);
  const auto copy = MakeFusedCopy(spec_, GetParam());
  copy->Load(*net);
  EXPECT_LT(ErrorOf(copy->Forward(RandomBytes()), Exact(*net, RandomBytes())), 0.1);
}

TEST_P(FusedCopyOf, WeightsThatWereWrittenThroughStateEvaluatesWithThem) {
  const auto net = Trained(spec_);
  const auto from = MakeFusedCopy(spec_, GetParam());
  const auto to = MakeFusedCopy(spec_, GetParam());
  from->Load(*net);
  to->Load(ResNetFC(spec_, /*seed=*/3));
  const at::Tensor bytes = RandomBytes();
  EXPECT_FALSE(to->Forward(bytes).equal(from->Forward(bytes)));
  const StateDict source = from->State();
  const StateDict target = to->State();
  for (std::size_t i = 0; i < source.size(); ++i) target[i].second.copy_(source[i].second);
  EXPECT_TRUE(to->Forward(bytes).equal(from->Forward(bytes)));
}

TEST_P(FusedCopyOf, AWeightThatIsNoNumberGivesNoNumber) {
  const auto net = Trained(spec_);
  {
    const c10::NoGradGuard no_grad;
    net->layers()[2]->weight[1][1] = NAN;
  }
  const auto copy = MakeFusedCopy(spec_, GetParam());
  copy->Load(*net);
  EXPECT_TRUE(copy->Forward(RandomBytes()).isnan().all().item<bool>());
}

TEST_P(FusedCopyOf, AByteThatIsNoValueThrows) {
  const auto copy = MakeFusedCopy(spec_, GetParam());
  copy->Load(ResNetFC(spec_, /*seed=*/1));
  const at::Tensor bytes = RandomBytes();
  bytes[kCopyRows - 1][6] = kInput.depth;
  EXPECT_THROW(copy->Forward(bytes), Error);
}

INSTANTIATE_TEST_SUITE_P(Each, FusedCopyOf,
                         testing::Values(Precision::kFp32, Precision::kBf16, Precision::kInt8));

// Rows of a puzzle with 25 tiles; each swaps a few tiles of the row before.
at::Tensor BytesOfSiblings(InputLayout input) {
  at::Tensor bytes = at::empty({kCopyRows, input.positions}, at::kByte);
  at::Tensor row = at::arange(input.positions, at::kByte);
  for (std::int64_t r = 0; r < kCopyRows; ++r) {
    for (std::int64_t swap = 0; swap < r % 5; ++swap) {  // none in every fifth row
      const std::int64_t i = (7 * r + 3 * swap) % input.positions;
      const at::Tensor first = row[i].clone();
      row[i].copy_(row[(i + 1) % input.positions]);
      row[(i + 1) % input.positions].copy_(first);
    }
    bytes[r].copy_(row);
  }
  return bytes;
}

TEST(FusedCopy, SumsWhatDiffersFromTheRowBefore) {
  const InputLayout input{.positions = 25, .depth = 25};
  const NetworkSpec spec{
      .input = input, .layers = {.width = 70, .blocks = 0, .norm = Norm::kLayer}, .outputs = 2};
  ResNetFC net(spec, /*seed=*/1);
  const auto copy = MakeFusedCopy(spec, Precision::kBf16);
  copy->Load(net);
  const at::Tensor bytes = BytesOfSiblings(input);
  const at::Tensor all = copy->Forward(bytes).clone();
  for (std::int64_t r = 0; r < kCopyRows; ++r) {
    EXPECT_TRUE(copy->Forward(bytes.narrow(0, r, 1)).equal(all.narrow(0, r, 1))) << r;
  }
  const c10::NoGradGuard no_grad;
  const at::Tensor exact = net.Forward(OneHot(input, at::kFloat, c10::kCPU)(bytes));
  EXPECT_LT(ErrorOf(all, exact), 0.02);  // activations are rounded to 8 bits
}

TEST(FusedCopy, OfAFirstLayerWithAWeightThatIsNoNumberGivesNoNumber) {
  const NetworkSpec spec = SpecOf({.width = 34, .blocks = 0});
  for (const float value : {NAN, INFINITY}) {
    ResNetFC net(spec, /*seed=*/1);
    {
      const c10::NoGradGuard no_grad;
      net.layers()[0]->weight[1][1] = value;
    }
    const auto copy = MakeFusedCopy(spec, Precision::kBf16);
    copy->Load(net);
    EXPECT_TRUE(copy->Forward(RandomBytes()).isnan().all().item<bool>()) << value;
  }
}

TEST(FusedCopy, OfMorePositionsThan16BitsCanAddThrows) {
  const InputLayout input{.positions = 40000, .depth = 17};
  const NetworkSpec spec{.input = input, .layers = {.width = 2, .blocks = 0}, .outputs = 1};
  const auto copy = MakeFusedCopy(spec, Precision::kBf16);
  copy->Load(ResNetFC(spec, /*seed=*/1));
  EXPECT_THROW(copy->Forward(at::zeros({1, input.positions}, at::kByte)), InputError);
}

// 255 x 127 x 66,311 is the last such product below 2^31.
TEST(WhyNotFused, RejectsInt8IfSumsCouldOverflow) {
  const auto why = [](std::int64_t inputs) {
    return WhyNotFused({.stem_width = inputs, .width = 2, .blocks = 0}, Precision::kInt8,
                       c10::kCPU);
  };
  if (!why(8).empty()) GTEST_SKIP() << why(8);
  EXPECT_EQ(why(66311), "");
  EXPECT_EQ(why(66312),
            "in int8 a hidden layer adds up at most 66,311 inputs, and hidden1 has 66,312");
}

// A network without hidden products can be fused on every CPU, and one with an odd width on none.
TEST(WhyNoCopy, NamesWhatTheNetworkOrTheDeviceLacks) {
  const auto cpu = OpenDevice("cpu");
  const auto why = [&](BackendKind backend, const NetworkConfig& network,
                       Precision precision = Precision::kBf16) {
    Config config;
    config.network = network;
    config.inference.backend = backend;
    config.inference.precision = precision;
    return WhyNoCopy(config, *cpu);
  };
  const NetworkConfig odd{.width = 33};
  EXPECT_EQ(why(BackendKind::kReference, odd), "");
  EXPECT_EQ(why(BackendKind::kGpu, odd), "");
  EXPECT_NE(why(BackendKind::kCpu, odd).find("even"), std::string::npos);
  EXPECT_EQ(why(BackendKind::kCpu, {.width = 64, .blocks = 0}), "");
  EXPECT_NE(why(BackendKind::kGpu, {}, Precision::kFp8).find("compute capability 8.9"),
            std::string::npos);
  for (const BackendKind backend : {BackendKind::kReference, BackendKind::kGpu}) {
    EXPECT_NE(why(backend, {}, Precision::kInt8).find("does not compute in int8"),
              std::string::npos);
  }
  for (const BackendKind backend : {BackendKind::kReference, BackendKind::kCpu}) {
    EXPECT_NE(why(backend, {}, Precision::kFp8).find("does not compute in fp8"), std::string::npos);
  }
  for (const BackendKind backend : {BackendKind::kCpu, BackendKind::kGpu}) {
    EXPECT_NE(why(backend, {.kind = "resnet_2d"}).find("resnet_fc"), std::string::npos);
  }
}

TEST(MakeInferenceCopy, NamesTheBackendThatCannotBeUsed) {
  const auto cpu = OpenDevice("cpu");
  const auto make = [&](BackendKind backend) {
    MakeInferenceCopy(SpecOf({.width = 33}), {.precision = Precision::kBf16, .backend = backend},
                      *cpu);
  };
  try {
    make(BackendKind::kCpu);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("`backend: cpu` with `inference.precision: bf16`: "),
              std::string::npos);
  }
  EXPECT_NO_THROW(make(BackendKind::kReference));
  EXPECT_THROW(make(BackendKind::kAuto), Error);
}

TEST(InferenceNet, HasIndependentRowsIfItsCopyIsFused) {
  const auto cpu = OpenDevice("cpu");
  const auto rows_are_independent = [&](BackendKind forward) {
    const InferenceConfig config{
        .batch_size = 8, .threads = 1, .precision = Precision::kBf16, .backend = forward};
    return InferenceNet(SpecOf({.width = 64, .blocks = 0}), config, *cpu).rows_are_independent();
  };
  EXPECT_TRUE(rows_are_independent(BackendKind::kCpu));
  EXPECT_FALSE(rows_are_independent(BackendKind::kReference));
}

}  // namespace
}  // namespace tandem
