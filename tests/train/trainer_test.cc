#include "train/trainer.h"

#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <limits>

#include "data/loader.h"
#include "generate/generator.h"
#include "nn/inference_net.h"
#include "support/recording_device.h"
#include "support/ring_domain.h"
#include "tandem/error.h"

namespace tandem {
namespace {

struct Components {
  explicit Components(TorchTrainerOptions options = {}, Norm norm = Norm::kNone)
      : net({.input = ring.spec().input, .layers = {.width = 8, .blocks = 1, .norm = norm}}, 1),
        target(net.spec(), at::kFloat, c10::kCPU),
        loader(*device, schema, {.batch_size = 4, .depth = 2, .seed = 1}),
        trainer(net, &target, loader, *device, options) {}

  std::unique_ptr<Device> device = OpenDevice("cpu");
  RingDomain ring{6};
  Schema schema = ExampleSchema(ring.spec());
  ResNetFC net;
  FrozenNet target;
  PrefetchLoader loader;
  TorchTrainer trainer;
};

DataBuffer RingRows(const Components& parts, std::size_t rows, float target) {
  DataBuffer buffer(parts.schema, rows);
  for (std::size_t i = 0; i < rows; ++i) {
    buffer.column(kInputColumn)[i][i % 6] = 1;
    buffer.floats(kTargetColumn)[i] = target;
  }
  return buffer;
}

const TorchTrainerOptions kOptions{.optimizer = {.learning_rate = 0.01},
                                   .iterations_per_update = 5};

TEST(TorchTrainer, OneStepIsTheGradientStepOfTheSquaredError) {
  // Set every weight to zero except the output's bias b, so that the result can be computed by
  // hand. The estimate is then b, the loss is the mean of (b - t)^2, and its gradient is 2 (b -
  // mean t). Adam's first step moves b by the learning rate against the sign of the gradient.
  Components parts(
      {.optimizer = {.name = OptimizerKind::kAdam, .learning_rate = 0.125, .epsilon = 0},
       .iterations_per_update = 1});
  {
    const c10::NoGradGuard no_grad;
    for (at::Tensor& parameter : parts.net.parameters()) parameter.zero_();
    parts.net.output->bias.fill_(3);
  }
  const Batch batch{
      .inputs = at::tensor({1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0}, at::kByte).view({2, 6}),
      .targets = at::tensor({5.0F, 2.0F}).view({2, 1})};
  const at::Tensor loss = parts.trainer.Step(batch, 0.125);
  EXPECT_FLOAT_EQ(loss.item<float>(), (4.0F + 1.0F) / 2);
  EXPECT_FLOAT_EQ(parts.net.output->bias.item<float>(), 3.125F);
}

TEST(TorchTrainer, CopyingTheNetworkForEvaluationDoesNotWaitForTheWholeDevice) {
  const RingDomain ring(6);
  const Schema schema = ExampleSchema(ring.spec());
  RecordingDevice device;
  ResNetFC net({.input = ring.spec().input, .layers = {.width = 8, .blocks = 1}}, 1);
  FrozenNet target(net.spec(), at::kFloat, c10::kCPU);
  PrefetchLoader loader(device, schema, {.batch_size = 4, .depth = 2, .seed = 1});
  TorchTrainer trainer(net, &target, loader, device, {});
  OnlineEvaluator current(net, at::kFloat, device, {.batch_size = 4, .threads = 1});
  const DataBuffer rows(schema, 3);
  std::vector<float> values(3);
  trainer.PublishTarget();
  current.Evaluate(rows.column(kInputColumn), values);
  current.Changed();
  current.Evaluate(rows.column(kInputColumn), values);
  EXPECT_EQ(device.synchronizations, 0);
}

TEST(TorchTrainer, AccumulatedPartsGiveTheStepOfTheWholeBatch) {
  const auto after = [](std::int64_t parts_of_a_batch) {
    Components parts(
        {.optimizer = {.name = OptimizerKind::kAdam, .learning_rate = 0.01, .epsilon = 1},
         .accumulation_steps = parts_of_a_batch,
         .iterations_per_update = 5},
        Norm::kLayer);
    const double loss = parts.trainer.Train(0, RingRows(parts, 20, 3.0F), StopSignal()).loss;
    const at::Tensor rows = at::tensor({1, 0, 0, 0, 0, 0}, at::kByte).view({1, 6});
    parts.trainer.PublishTarget();
    return std::pair(loss, parts.target.Forward(rows).item<float>());
  };
  EXPECT_NEAR(after(1).first, after(4).first, 1e-4);
  EXPECT_NEAR(after(1).second, after(4).second, 1e-5);
  EXPECT_NEAR(after(1).second, after(2).second, 1e-5);
}

TEST(TorchTrainer, HuberLossIsLinearBeyondItsDelta) {
  Components parts({.loss = Loss::kHuber, .huber_delta = 0.5});
  {
    const c10::NoGradGuard no_grad;
    for (at::Tensor& parameter : parts.net.parameters()) parameter.zero_();
  }
  const Batch batch{
      .inputs = at::tensor({1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0}, at::kByte).view({2, 6}),
      .targets = at::tensor({0.25F, 3.0F}).view({2, 1})};
  // 0.25^2 / 2 and 0.5 * (3 - 0.5 / 2)
  EXPECT_FLOAT_EQ(parts.trainer.Step(batch, 0).item<float>(), (0.03125F + 1.375F) / 2);
}

TEST(TorchTrainer, TrainsOnEveryBatchAndLearns) {
  Components parts(kOptions);
  const DataBuffer rows = RingRows(parts, 20, 3.0F);
  std::vector<std::int64_t> iterations;
  parts.trainer.OnIteration([&](std::int64_t iteration) { iterations.push_back(iteration); });
  const TrainStats first = parts.trainer.Train(0, rows, StopSignal());
  EXPECT_EQ(first.iterations, 5);
  EXPECT_EQ(first.examples, 20);
  TrainStats last;
  for (std::int64_t update = 1; update < 40; ++update) {
    last = parts.trainer.Train(update, rows, StopSignal());
  }
  EXPECT_LT(last.loss, first.loss / 10);
  EXPECT_EQ(iterations.front(), 0);
  EXPECT_EQ(iterations.back(), 199);
}

TEST(TorchTrainer, StopsBetweenIterations) {
  Components parts(kOptions);
  StopSignal stop;
  parts.trainer.OnIteration([&](std::int64_t iteration) {
    if (iteration == 2) stop.Request();
  });
  const TrainStats stats = parts.trainer.Train(0, RingRows(parts, 20, 1.0F), stop);
  EXPECT_EQ(stats.iterations, 3);
  EXPECT_EQ(stats.examples, 12);
}

TEST(TorchTrainer, ErrorNamesTheUpdateWhoseLossIsNotFinite) {
  Components parts(kOptions);
  const DataBuffer rows = RingRows(parts, 20, std::numeric_limits<float>::infinity());
  try {
    parts.trainer.Train(3, rows, StopSignal());
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("update 3: the loss is "), std::string::npos);
  }
}

TEST(TorchTrainer, PublishCopiesTheCurrentWeights) {
  Components parts(kOptions, Norm::kLayer);
  const at::Tensor rows = at::tensor({1, 0, 0, 0, 0, 0}, at::kByte).view({1, 6});
  parts.trainer.PublishTarget();
  const float before = parts.target.Forward(rows).item<float>();
  parts.trainer.Train(0, RingRows(parts, 20, 9.0F), StopSignal());
  EXPECT_EQ(parts.target.Forward(rows).item<float>(), before);
  parts.trainer.PublishTarget();
  EXPECT_NE(parts.target.Forward(rows).item<float>(), before);
}

}  // namespace
}  // namespace tandem
