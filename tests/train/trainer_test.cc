#include "train/trainer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "generate/generator.h"
#include "loaders/loader.h"
#include "nn/cpu/cpu_backend.h"
#include "nn/inference_net.h"
#include "nn/resnet_fc.h"
#include "nn/tensor_file.h"
#include "ranks/gradient_reducer.h"
#include "support/recorded_ops.h"
#include "support/recording_device.h"
#include "support/ring_domain.h"
#include "tandem/error.h"
#include "train/resolve.h"

namespace tandem {
namespace {

// A config of one small update: 5 iterations of 4 rows, on one thread, in fp32.
Config SmallConfig(const OptimizerConfig& optimizer = {.learning_rate = 0.01}) {
  Config config;
  config.network = {.width = 8, .blocks = 1, .norm = Norm::kNone};
  config.optimizer = optimizer;
  config.train.batch_size = 4;
  config.train.iterations_per_update = 5;
  config.train.threads = 1;
  config.train.precision = Precision::kFp32;
  config.train.backend = BackendKind::kReference;
  config.inference = {.batch_size = 4,
                      .threads = 1,
                      .precision = Precision::kFp32,
                      .backend = BackendKind::kReference};
  return config;
}

// Two rows for a network with two outputs.
Batch TwoRows(const std::vector<float>& targets, const std::vector<float>& weights = {}) {
  Batch batch{.inputs = at::tensor({1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0}, at::kByte).view({2, 6}),
              .targets = at::tensor(targets).view({2, 2})};
  if (!weights.empty()) batch.weights = at::tensor(weights).view({2, 2});
  return batch;
}

struct Parts {
  explicit Parts(const Config& config = SmallConfig(),
                 std::unique_ptr<Device> on = OpenDevice("cpu"), GradientReducer* reducer = nullptr)
      : device(std::move(on)),
        net(NetworkFor(config.network, ring.spec()), /*seed=*/1),
        target(net.spec(), config.inference, *device),
        loader(*device, schema, config, nullptr),
        trainer(net, &target, loader, *device, config, reducer) {}

  TrainStats Train(std::int64_t update, const DataBuffer& rows) {
    const std::unique_ptr<TrainPass> pass = trainer.Begin(update, &rows);
    while (pass->Step()) {
    }
    return pass->Finish();
  }

  float TargetEstimate() {
    std::uint8_t row[] = {1, 0, 0, 0, 0, 0};
    float value = 0;
    target.Evaluate(ConstRows(row, 1, 6), {&value, 1});
    return value;
  }

  std::unique_ptr<Device> device;
  RingDomain ring{6};
  Schema schema = ExampleSchema(ring.spec());
  ResNetFC net;
  InferenceNet target;
  DataLoader loader;
  TorchTrainer trainer;
};

DataBuffer RingRows(const Parts& parts, std::size_t rows, float target) {
  DataBuffer buffer(parts.schema, rows);
  for (std::size_t i = 0; i < rows; ++i) {
    buffer.column(kInputColumn)[i][i % 6] = 1;
    buffer.floats(kTargetColumn)[i] = target;
  }
  return buffer;
}

TEST(TorchTrainer, OneStepIsTheGradientStepOfTheSquaredError) {
  // Set every weight to zero except the output's bias b, so that the result can be computed by
  // hand. The estimate is then b, the loss is the mean of (b - t)^2, and its gradient is 2 (b -
  // mean t). Adam's first step moves b by the learning rate against the sign of the gradient.
  Parts parts(SmallConfig({.learning_rate = 0.125, .epsilon = 0}));
  {
    const c10::NoGradGuard no_grad;
    for (at::Tensor& parameter : parts.net.parameters()) parameter.zero_();
    parts.net.layers().back()->bias.fill_(3);
  }
  const Batch batch{
      .inputs = at::tensor({1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0}, at::kByte).view({2, 6}),
      .targets = at::tensor({5.0F, 2.0F}).view({2, 1})};
  const at::Tensor loss = parts.trainer.Step(batch, 0.125);
  EXPECT_FLOAT_EQ(loss.item<float>(), (4.0F + 1.0F) / 2);
  EXPECT_FLOAT_EQ(parts.net.layers().back()->bias.item<float>(), 3.125F);
}

TEST(TorchTrainer, CopyingTheNetworkForEvaluationDoesNotWaitForTheWholeDevice) {
  auto owned = std::make_unique<RecordingDevice>();
  const RecordingDevice& device = *owned;
  const Config config = SmallConfig();
  Parts parts(config, std::move(owned));
  OnlineEvaluator online(parts.trainer, config.inference, *parts.device);
  const DataBuffer rows = RingRows(parts, 20, 3.0F);
  std::vector<float> before(20), after(20);
  parts.trainer.RefreshTarget();
  online.Evaluate(rows.column(kInputColumn), before);
  parts.Train(0, rows);
  online.Evaluate(rows.column(kInputColumn), after);
  EXPECT_NE(before, after);
  EXPECT_EQ(device.synchronizations, 0);
}

TEST(TorchTrainer, AccumulatedPartsGiveTheStepOfTheWholeBatch) {
  const auto after = [](std::int64_t parts_of_a_batch) {
    Config config = SmallConfig({.learning_rate = 0.01, .epsilon = 1});
    config.network.norm = Norm::kLayer;
    config.train.accumulation_steps = parts_of_a_batch;
    Parts parts(config);
    const double loss = parts.Train(0, RingRows(parts, 20, 3.0F)).loss;
    parts.trainer.RefreshTarget();
    return std::pair(loss, parts.TargetEstimate());
  };
  EXPECT_NEAR(after(1).first, after(4).first, 1e-4);
  EXPECT_NEAR(after(1).second, after(4).second, 1e-5);
  EXPECT_NEAR(after(1).second, after(2).second, 1e-5);
}

TEST(TorchTrainer, LossFalls) {
  Parts parts(SmallConfig());
  const DataBuffer rows = RingRows(parts, 20, 3.0F);
  const double first = parts.Train(0, rows).loss;
  double last = first;
  for (std::int64_t update = 1; update < 40; ++update) last = parts.Train(update, rows).loss;
  EXPECT_LT(last, first / 10);
}

void SetToZero(ResNetFC& net) {
  const c10::NoGradGuard no_grad;
  for (at::Tensor& parameter : net.parameters()) parameter.zero_();
}

TEST(TorchTrainer, OutputsWithWeightZeroDoNotCount) {
  Config config = SmallConfig({.learning_rate = 0.125});
  config.network.head = Head::kQ;
  Parts parts(config);
  SetToZero(parts.net);
  // The first output is masked in both rows, so its bias stays.
  const Batch batch = TwoRows({99, 2, 99, 1}, {0, 3, 0, 1});
  EXPECT_FLOAT_EQ(parts.trainer.Step(batch, 0.125).item<float>(), (3 * 4.0F + 1) / 4);
  const at::Tensor bias = parts.net.layers().back()->bias;
  EXPECT_EQ(bias[0].item<float>(), 0);
  EXPECT_NEAR(bias[1].item<float>(), 0.125, 1e-5);
}

TEST(TorchTrainer, WeightsOfOneGiveTheUnweightedLossAndOfZeroNone) {
  Config config = SmallConfig();
  config.network.head = Head::kQ;
  Parts parts(config);
  const auto loss_of = [&](const std::vector<float>& weights) {
    return parts.trainer.Step(TwoRows({1, 2, 3, 4}, weights), 0).item<float>();
  };
  EXPECT_NEAR(loss_of({1, 1, 1, 1}), loss_of({}), 1e-5);
  EXPECT_EQ(loss_of({0, 0, 0, 0}), 0);
}

TEST(TorchTrainer, PartsOfAWeightedBatchGiveTheLossOfTheWholeBatch) {
  const auto loss_with = [](std::int64_t accumulation_steps) {
    Config config = SmallConfig();
    config.network.head = Head::kQ;
    config.train.accumulation_steps = accumulation_steps;
    Parts parts(config);
    return parts.trainer.Step(TwoRows({1, 2, 3, 4}, {1, 0, 2, 1}), 0).item<float>();
  };
  EXPECT_NEAR(loss_with(1), loss_with(2), 1e-5);
}

// Compares the losses of five steps, which show the gradients too.
class FusedTrainer : public testing::TestWithParam<std::tuple<std::int64_t, BackendKind>> {
 protected:
  FusedTrainer() { config_.train.accumulation_steps = std::get<0>(GetParam()); }

  static BackendKind step() { return std::get<1>(GetParam()); }

  void SetUp() override {
    if (step() != BackendKind::kCpu) return;
    const std::string why =
        WhyNotFused(config_.network, config_.train.precision, c10::Device(c10::kCPU));
    if (!why.empty()) GTEST_SKIP() << why;
  }

  std::vector<float> Losses(BackendKind step, const Batch& batch) const {
    Config config = config_;
    config.train.backend = step;
    Parts parts(config);
    std::vector<float> losses;
    for (int i = 0; i < 5; ++i) losses.push_back(parts.trainer.Step(batch, 0.1).item<float>());
    return losses;
  }

  void ExpectSameLosses(const Batch& batch, const std::string& what) const {
    const std::vector<float> autograd = Losses(BackendKind::kReference, batch);
    const std::vector<float> fused = Losses(step(), batch);
    for (std::size_t i = 0; i < autograd.size(); ++i) {
      EXPECT_NEAR(fused[i], autograd[i], 1e-4) << what << ", step " << i;
    }
    EXPECT_LT(fused.back(), fused.front() - 1e-3) << what;
  }

  Config config_ = SmallConfig({.learning_rate = 0.1, .epsilon = 1});
};

TEST_P(FusedTrainer, LearnsCostsAsAutogradDoes) {
  config_.network.head = Head::kQ;
  ExpectSameLosses(TwoRows({1, 2, 3, 4}), "all outputs");
  ExpectSameLosses(TwoRows({1, 2, 3, 4}, {1, 0, 2, 1}), "weighted");
}

TEST_P(FusedTrainer, RanksExchangeGradientsWithoutACopy) {
  config_.train.backend = step();
  config_.network.head = Head::kQ;
  Ranks ranks{RankEnvironment{.host = "127.0.0.1", .port = 0}};  // one; 0: any free port
  const StopSignal local;
  AgreedStop stop(local);
  const auto device = OpenDevice("cpu");
  GradientReducer reducer(ranks, stop, *device);
  Parts in_ranks(config_, OpenDevice("cpu"), &reducer);
  Parts alone(config_);
  const RecordedOps ops;
  for (int i = 0; i < 3; ++i) {
    const Batch batch = TwoRows({1, 2, 3, 4});
    EXPECT_EQ(in_ranks.trainer.Step(batch, 0.1).item<float>(),
              alone.trainer.Step(batch, 0.1).item<float>());
  }
  EXPECT_EQ(WeightsSha256(in_ranks.net.State()), WeightsSha256(alone.net.State()));
  EXPECT_EQ(ops.Count("aten::_foreach_copy_"), 0);
}

TEST_P(FusedTrainer, LossOrWeightThatIsNotFiniteEndsTheUpdate) {
  config_.train.backend = step();
  Parts parts(config_);
  EXPECT_THROW(parts.Train(0, RingRows(parts, 20, std::numeric_limits<float>::infinity())), Error);
}

TEST_P(FusedTrainer, LearnsAPolicyAsAutogradDoes) {
  config_.network.head = Head::kPolicy;
  ExpectSameLosses(TwoRows({0.25F, 0.75F, 0, 1}), "policy");
}

TEST_P(FusedTrainer, LearnsAValueAndAPolicyAsAutogradDoes) {
  config_.network.head = Head::kVp;
  config_.train.policy_weight = 0.5;
  Batch batch = TwoRows({0, 0, 0, 0});
  batch.targets = at::tensor({3.0F, 1.0F, 0.0F, 1.0F, 0.5F, 0.5F}).view({2, 3});
  ExpectSameLosses(batch, "value and policy");
}

INSTANTIATE_TEST_SUITE_P(Parts, FusedTrainer,
                         testing::Combine(testing::Values(1, 2),
                                          testing::Values(BackendKind::kCpu, BackendKind::kGpu)));

TEST(TorchTrainer, FusedStepNamesWhatItDoesNotSupport) {
  Config config = SmallConfig();
  config.network.width = 33;
  config.train.precision = Precision::kBf16;
  config.backend = BackendKind::kAuto;
  EXPECT_EQ(ResolveAutos(config, *OpenDevice("cpu")).train.backend, BackendKind::kReference);
  config.train.backend = BackendKind::kCpu;
  EXPECT_THROW(
      {
        try {
          const Parts parts(config);
        } catch (const InputError& error) {
          EXPECT_NE(std::string(error.what()).find("even network.width"), std::string::npos);
          throw;
        }
      },
      InputError);
}

TEST(TorchTrainer, PolicyLearnsTheDistributionByCrossEntropy) {
  Config config = SmallConfig({.learning_rate = 0.05});
  config.network.head = Head::kPolicy;
  Parts parts(config);
  SetToZero(parts.net);
  const Batch batch = TwoRows({0.25F, 0.75F, 0.25F, 0.75F});
  EXPECT_NEAR(parts.trainer.Step(batch, 0.05).item<float>(), std::log(2.0), 1e-5);
  float last = 0;
  for (int i = 0; i < 300; ++i) last = parts.trainer.Step(batch, 0.05).item<float>();
  EXPECT_NEAR(last, -0.25 * std::log(0.25) - 0.75 * std::log(0.75), 1e-3);
  const at::Tensor bias = parts.net.layers().back()->bias;
  EXPECT_NEAR((bias[1] - bias[0]).item<float>(), std::log(3.0), 0.05);
}

TEST(TorchTrainer, LossOfValueAndPolicyIsTheirWeightedSum) {
  for (const double policy_weight : {1.0, 0.25, 0.0}) {
    Config config = SmallConfig();
    config.network.head = Head::kVp;
    config.train.policy_weight = policy_weight;
    Parts parts(config);
    SetToZero(parts.net);
    Batch batch = TwoRows({0, 0, 0, 0});
    batch.targets = at::tensor({3.0F, 1.0F, 0.0F, 1.0F, 0.5F, 0.5F}).view({2, 3});
    // The outputs are 0: squared errors 9 and 1, and a policy of two equal probabilities.
    EXPECT_NEAR(parts.trainer.Step(batch, 0).item<float>(),
                (9 + 1) / 2.0 + policy_weight * std::log(2.0), 1e-5);
  }
}

TEST(TorchTrainer, ValueAndPolicyLearnsBoth) {
  Config config = SmallConfig({.learning_rate = 0.05});
  config.network.head = Head::kVp;
  Parts parts(config);
  SetToZero(parts.net);
  Batch batch = TwoRows({0, 0, 0, 0});
  batch.targets = at::tensor({3.0F, 0.25F, 0.75F, 3.0F, 0.25F, 0.75F}).view({2, 3});
  for (int i = 0; i < 300; ++i) parts.trainer.Step(batch, 0.05);
  const at::Tensor bias = parts.net.layers().back()->bias;
  EXPECT_NEAR(bias[0].item<float>(), 3, 0.1);
  EXPECT_NEAR((bias[2] - bias[1]).item<float>(), std::log(3.0), 0.05);
}

TEST(TorchTrainer, TrainsOnEveryBatchAndLearns) {
  Parts parts;
  const DataBuffer rows = RingRows(parts, 20, 3.0F);
  const TrainStats first = parts.Train(0, rows);
  EXPECT_EQ(first.iterations, 5);
  EXPECT_EQ(first.examples, 20);
  EXPECT_EQ(parts.trainer.num_steps(), 5);
  TrainStats last;
  for (std::int64_t update = 1; update < 40; ++update) last = parts.Train(update, rows);
  EXPECT_LT(last.loss, first.loss / 10);
  EXPECT_EQ(parts.trainer.num_steps(), 200);
}

TEST(TorchTrainer, APassCanEndEarly) {
  Parts parts;
  const DataBuffer rows = RingRows(parts, 20, 1.0F);
  const std::unique_ptr<TrainPass> pass = parts.trainer.Begin(2, &rows);
  EXPECT_EQ(pass->iterations_of_run(), 10);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(pass->Step());
  EXPECT_EQ(pass->iterations_of_run(), 13);
  const TrainStats stats = pass->Finish();
  EXPECT_EQ(stats.iterations, 3);
  EXPECT_EQ(stats.examples, 12);
}

TEST(TorchTrainer, ErrorNamesTheIterationWhoseLossIsNotFinite) {
  Parts parts;
  const DataBuffer rows = RingRows(parts, 20, std::numeric_limits<float>::infinity());
  try {
    parts.Train(3, rows);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("iteration 15: the loss is "), std::string::npos);
  }
}

// Returns rows of which those from `first` on have an infinite target.
DataBuffer RowsWithInfinity(const Parts& parts, std::size_t first) {
  DataBuffer rows = RingRows(parts, 20, 3.0F);
  for (std::size_t i = first; i < rows.rows(); ++i) {
    rows.floats(kTargetColumn)[i] = std::numeric_limits<float>::infinity();
  }
  return rows;
}

TEST(TorchTrainer, ErrorNamesTheIterationInTheMiddleOfAnUpdate) {
  Parts parts;
  const DataBuffer rows = RowsWithInfinity(parts, 19);
  std::int64_t bad = 15;  // the first iteration of the update
  {
    const std::unique_ptr<BatchIterator> batches = parts.loader.Open(&rows, 3);
    while (batches->Next().targets.isfinite().all().item<bool>()) ++bad;
  }
  ASSERT_GT(bad, 15);
  try {
    parts.Train(3, rows);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(fmt::format("iteration {}: the loss is ", bad)),
              std::string::npos);
  }
}

TEST(TorchTrainer, LossOfAnUpdateIsTheMeanOfItsIterations) {
  const auto loss_in_batches_of = [](std::int64_t size) {
    Config config = SmallConfig({.learning_rate = 1e-30});  // changes nothing
    config.train.batch_size = size;
    config.train.iterations_per_update = 20 / size;
    Parts parts(config);
    return parts.Train(0, RingRows(parts, 20, 3.0F)).loss;
  };
  EXPECT_NEAR(loss_in_batches_of(4), loss_in_batches_of(20), 1e-5);
  EXPECT_NEAR(loss_in_batches_of(10), loss_in_batches_of(20), 1e-5);
}

TEST(TorchTrainer, GradientThatIsNotFiniteInTheLastIterationIsAnError) {
  // The loss is finite, but the step with it makes the weights infinite.
  Config config = SmallConfig({.learning_rate = 1e39});
  config.train.iterations_per_update = 1;
  Parts parts(config);
  try {
    parts.Train(3, RingRows(parts, 4, 1e15F));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("iteration 3: a weight is not a finite number"),
              std::string::npos)
        << error.what();
  }
}

TEST(TorchTrainer, RefreshCopiesTheCurrentWeights) {
  Config config = SmallConfig();
  config.network.norm = Norm::kLayer;
  Parts parts(config);
  parts.trainer.RefreshTarget();
  const float before = parts.TargetEstimate();
  parts.Train(0, RingRows(parts, 20, 9.0F));
  EXPECT_EQ(parts.TargetEstimate(), before);
  parts.trainer.RefreshTarget();
  EXPECT_NE(parts.TargetEstimate(), before);
}

}  // namespace
}  // namespace tandem
