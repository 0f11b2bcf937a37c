// Tests runs that rebuild their loaders and generators: rewound runs, and runs whose batches grow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "nn/device.h"
#include "nn/tensor_file.h"
#include "support/small_run.h"
#include "support/temp_folder.h"
#include "tandem/error.h"
#include "train/checkpoint.h"
#include "train/memory_plan.h"
#include "train/run_directory.h"
#include "train/train_run.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSmall =
    "domain: {name: npuzzle, size: 3}\n"
    "generate: {target: value_iteration, max_scramble: 8, chunk_rows: 70}\n"
    "network: {width: 32, blocks: 1, norm: batch}\n"
    "train: {batch_size: 40, iterations_per_update: 5, max_updates: 7, threads: 1}\n"
    "inference: {threads: 1}\n"
    "validation: {every_updates: 0}\n"
    "checkpoint: {every_updates: 1}\n";

class Rewind : public testing::TestWithParam<std::vector<std::string>> {
 protected:
  Config MakeConfig(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> sets = GetParam();
    sets.insert(sets.end(), more.begin(), more.end());
    return ConfigWith(kSmall, sets, *device_);
  }

  // Each checkpoint is complete before the next one is due.
  static void RunUpdates(TrainRun& run, int updates) {
    for (int i = 0; i < updates; ++i) {
      run.RunUpdate();
      run.AwaitCheckpoint();
    }
  }

  // Copies the files that a later rewind to this point needs, because later checkpoints replace
  // them.
  Checkpoint Keep(const RunDirectory& directory) const {
    for (const fs::directory_entry& entry : fs::directory_iterator(directory.path())) {
      fs::copy(entry, kept_ / entry.path().filename());
    }
    return Checkpoint(kept_ / "checkpoint.pt");
  }

  void BringBackReplay(const RunDirectory& directory, std::int64_t updates) const {
    const fs::path replay = directory.replay(updates);
    if (fs::exists(kept_ / replay.filename())) fs::copy(kept_ / replay.filename(), replay);
  }

  // Returns the hash of the weights that a checkpoint holds.
  std::string Weights(const fs::path& checkpoint) const {
    return ReadTensorFile(checkpoint).at("weights_sha256").toStringRef();
  }

  void SetUp() override { fs::create_directory(kept_); }

  const TempFolder temp_;
  const fs::path folder_ = temp_.path() / "run";
  const fs::path kept_ = temp_.path() / "kept";
  const std::shared_ptr<Device> device_ = OpenDevice("cpu");
  const StopSignal never_;
};

TEST_P(Rewind, GivesSameWeightsAsARunWithoutRewind) {
  const RunDirectory directory = RunDirectory::Create(folder_);
  TrainRun run(MakeConfig(), device_, directory, never_);
  RunUpdates(run, 2);
  const Checkpoint after_two = Keep(directory);
  RunUpdates(run, 3);
  BringBackReplay(directory, 2);
  run.RewindTo(after_two);  // while, in async, rows of update 5 are being made

  const RunSummary rewound = ToTheEnd(run);
  const RunSummary straight = TrainToTheEnd(MakeConfig(), device_);
  EXPECT_EQ(rewound.weights_sha256, straight.weights_sha256);
  EXPECT_EQ(rewound.final_loss, straight.final_loss);
  EXPECT_EQ(rewound.updates, 7);
  EXPECT_EQ(rewound.examples, straight.examples);

  std::int64_t update = 0;
  for (const nlohmann::json& line : MetricsOf(folder_)) EXPECT_EQ(line["update"], update++);
  EXPECT_EQ(update, 7);
}

TEST_P(Rewind, FinishedRunCanRewindAndFinishAgain) {
  const RunDirectory directory = RunDirectory::Create(folder_);
  TrainRun run(MakeConfig(), device_, directory, never_);
  RunUpdates(run, 1);
  const Checkpoint after_one = Keep(directory);
  const RunSummary first = ToTheEnd(run);
  BringBackReplay(directory, 1);
  run.RewindTo(after_one);
  EXPECT_EQ(ToTheEnd(run).weights_sha256, first.weights_sha256);
}

TEST_P(Rewind, RemovesKeptNetworksOfLaterUpdatesAndKeepsThemAgain) {
  const RunDirectory directory = RunDirectory::Create(folder_);
  TrainRun run(MakeConfig({"checkpoint.keep_every=2"}), device_, directory, never_);
  RunUpdates(run, 3);
  const Checkpoint after_three = Keep(directory);
  const std::string first = Weights(directory.kept(2));
  RunUpdates(run, 3);
  const std::string second = Weights(directory.kept(4));
  EXPECT_THAT(directory.AllKept(),
              testing::ElementsAre(directory.kept(2), directory.kept(4), directory.kept(6)));
  BringBackReplay(directory, 3);
  run.RewindTo(after_three);
  EXPECT_THAT(directory.AllKept(), testing::ElementsAre(directory.kept(2)));
  EXPECT_EQ(Weights(directory.kept(2)), first);

  ToTheEnd(run);
  EXPECT_EQ(directory.AllKept().size(), 3);
  EXPECT_EQ(Weights(directory.kept(4)), second);
  EXPECT_NE(first, second);
}

TEST_P(Rewind, RejectsACheckpointOfAnotherNetwork) {
  const fs::path other = temp_.path() / "other";
  TrainRun wide(MakeConfig({"network.width=48"}), device_, RunDirectory::Create(other), never_);
  RunUpdates(wide, 1);
  TrainRun run(MakeConfig(), device_, RunDirectory::Create(folder_), never_);
  RunUpdates(run, 1);
  EXPECT_THROW(run.RewindTo(Checkpoint(other / "checkpoint.pt")), InputError);
}

using Sets = std::vector<std::string>;
INSTANTIATE_TEST_SUITE_P(
    All, Rewind,
    testing::Values(Sets{}, Sets{"generate.target=walk_length"}, Sets{"pipeline.mode=sequential"},
                    Sets{"prefetch.enabled=false"}, Sets{"replay.updates=2"},
                    Sets{"generate.search=astar", "generate.search_iterations=10"},
                    Sets{"train.batch_doubles_every=3"}));

// The weights that a search uses depend on timing, so the test checks only that the run ends.
TEST(RewindSyncMain, StopsASearchThatWaitsForTheInferenceQueue) {
  const TempFolder temp;
  const std::shared_ptr<Device> device = OpenDevice("cpu");
  const RunDirectory directory = RunDirectory::Create(temp.path() / "run");
  const StopSignal never;
  const Config config = ConfigWith(kSmall,
                                   {"pipeline.mode=sync_main", "generate.search=greedy",
                                    "generate.search_iterations=10", "replay.updates=2"},
                                   *device);
  TrainRun run(config, device, directory, never);
  for (int update = 0; update < 3; ++update) run.RunUpdate();
  run.AwaitCheckpoint();
  run.RewindTo(Checkpoint(directory.checkpoint()));
  EXPECT_EQ(ToTheEnd(run).updates, 7);
}

TEST(RewindWithoutFolder, RejectsRewindWithReplay) {
  const TempFolder temp;
  const std::shared_ptr<Device> device = OpenDevice("cpu");
  const StopSignal never;
  const Config config = ConfigWith(kSmall, {"replay.updates=2"}, *device);
  const RunDirectory directory = RunDirectory::Create(temp.path() / "run");
  TrainRun kept(config, device, directory, never);
  kept.RunUpdate();
  kept.AwaitCheckpoint();
  const Checkpoint checkpoint(directory.checkpoint());
  TrainRun run(config, device, std::nullopt, never);
  EXPECT_THROW(run.RewindTo(checkpoint), InputError);
  EXPECT_TRUE(run.RunUpdate());
}

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
  void OnIteration(const Progress& progress) override { examples = progress.examples; }
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
    TrainRun run(MakeConfig(async ? Sets{mode} : Sets{mode, "pipeline.policy_lag=1"}), device_,
                 std::nullopt, never_);
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
