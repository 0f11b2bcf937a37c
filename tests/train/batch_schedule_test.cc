// Tests runs whose batches grow.
#include <gtest/gtest.h>

#include "nn/device.h"
#include "support/small_run.h"
#include "train/memory_plan.h"
#include "train/train_run.h"

namespace tandem {
namespace {

constexpr const char* kSmall =
    "domain: {name: npuzzle, size: 3}\n"
    "generate: {target: value_iteration, max_scramble: 8, chunk_rows: 70}\n"
    "network: {width: 32, blocks: 1, norm: batch}\n"
    "train: {batch_size: 40, iterations_per_update: 5, max_updates: 7, threads: 1}\n"
    "inference: {threads: 1}\n"
    "validation: {every_updates: 0}\n"
    "checkpoint: {every_updates: 1}\n";

class BatchSchedule : public testing::Test {
 protected:
  Config MakeConfig(std::vector<std::string> sets) const {
    sets.emplace_back("train.batch_doubles_every=3");
    return ConfigWith(kSmall, sets, *device_);
  }

  const std::shared_ptr<Device> device_ = OpenDevice("cpu");
  const StopSignal never_;
};

class CountExamples final : public TrainObserver {
 public:
  void OnIteration(const TrainingProgress& progress) override { examples = progress.examples; }
  void OnUpdate(const UpdateRecord& record) override {
    of_updates.push_back(record.train.examples);
    lags.push_back(record.lag_updates);
  }

  std::int64_t examples = 0;
  std::vector<std::int64_t> of_updates, lags;
};

TEST_F(BatchSchedule, DoublesBatchesAndTrainsOnEveryRow) {
  std::string sha256;
  for (const char* mode : {"pipeline.mode=async", "pipeline.mode=sequential"}) {
    const bool async = std::string(mode) == "pipeline.mode=async";
    TrainRun run(MakeConfig(async ? std::vector<std::string>{mode}
                                  : std::vector<std::string>{mode, "pipeline.policy_lag=1"}),
                 {.device = device_, .stop = never_});
    CountExamples count;
    run.AddObserver(count);
    const RunSummary summary = ToTheEnd(run);
    EXPECT_EQ(count.of_updates, (std::vector<std::int64_t>{200, 200, 200, 400, 400, 400, 800}));
    EXPECT_EQ(count.lags, (std::vector<std::int64_t>{0, 1, 1, 1, 1, 1, 1}));
    EXPECT_EQ(count.examples, 2600);
    EXPECT_EQ(summary.examples, 2600);
    if (async) sha256 = summary.weights_sha256;
    EXPECT_EQ(summary.weights_sha256, sha256) << mode;
  }
}

TEST_F(BatchSchedule, PlansMemoryForTheLargestBatches) {
  const Config large = ConfigWith(kSmall, {"train.batch_size=160"}, *device_);
  EXPECT_EQ(PlanMemory(MakeConfig({})).buffers, PlanMemory(large).buffers);
  EXPECT_EQ(PlanMemory(MakeConfig({})).batches, PlanMemory(large).batches);
}

}  // namespace
}  // namespace tandem
