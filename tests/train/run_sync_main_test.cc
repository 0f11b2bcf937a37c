// Tests small whole runs in sync_main. The weights that a search uses depend on timing, so no test
// compares final weights.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "config/load.h"
#include "nn/device.h"
#include "support/stop_after.h"
#include "support/temp_folder.h"
#include "tandem/error.h"
#include "train/calibrate.h"
#include "train/checkpoint.h"
#include "train/resume.h"
#include "train/train_run.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSmall =
    "domain: {name: npuzzle, size: 3}\n"
    "pipeline: {mode: sync_main}\n"
    "generate: {target: capped_value_iteration, search: greedy, search_iterations: 20,\n"
    "           max_scramble: 12, chunk_rows: 200}\n"
    "replay: {updates: 2}\n"
    "network: {width: 32, blocks: 1}\n"
    "train: {batch_size: 100, iterations_per_update: 10, max_updates: 30, threads: 2}\n"
    "validation: {every_updates: 0}\n";

class SyncMain : public testing::Test {
 protected:
  Config MakeConfig(const std::vector<std::string>& sets) const {
    std::vector<Override> overrides;
    for (const std::string& set : sets) overrides.push_back(ParseOverride(set));
    return ResolveAutos(ParseConfig(kSmall, "small.yaml", overrides), *device_);
  }

  std::vector<nlohmann::json> Metrics() const {
    std::vector<nlohmann::json> lines;
    std::ifstream metrics(folder_ / "metrics.jsonl");
    for (std::string line; std::getline(metrics, line);) {
      lines.push_back(nlohmann::json::parse(line));
    }
    return lines;
  }

  RunSummary RunInFolder(const std::vector<std::string>& sets) {
    TrainRun run(MakeConfig(sets), device_, RunDirectory::Create(folder_), never_);
    while (run.RunUpdate()) {
    }
    return run.Finish();
  }

  const TempFolder temp_;
  const fs::path folder_ = temp_.path() / "run";
  const std::shared_ptr<Device> device_ = OpenDevice("cpu");
  const StopSignal never_;
};

TEST_F(SyncMain, LearnsAndReportsItsTime) {
  const RunSummary summary = RunInFolder({"validation.every_updates=30"});
  EXPECT_EQ(summary.end, RunEnd::kAllUpdates);
  EXPECT_EQ(summary.examples, 30'000);
  const std::vector<nlohmann::json> lines = Metrics();
  ASSERT_EQ(lines.size(), 30U);
  EXPECT_GT(summary.validation->solve_rate, 0.6);  // after one update, about 0.1
  for (const nlohmann::json& line : lines) {
    EXPECT_EQ(line["lag_updates"], 0);
    EXPECT_EQ(line["target_age_iterations"], 0);
    EXPECT_GT(line["label_s"], 0.0);
    EXPECT_GT(line["serve_s"], 0.0);
    EXPECT_GT(line["update_s"], line["label_s"]);
  }
}

TEST_F(SyncMain, WorksWithAQNetAndAStar) {
  const RunSummary summary =
      RunInFolder({"network.head=q", "generate.search=astar", "generate.target=value_iteration",
                   "train.max_updates=5", "pipeline.loss_thresh=0"});
  EXPECT_EQ(summary.updates, 5);
  // The loss of an update is never 0, so the target network is never refreshed.
  EXPECT_EQ(Metrics().back()["target_age_iterations"], 4 * 10);
}

TEST_F(SyncMain, WorksWithABeamAndATemperature) {
  const RunSummary summary = RunInFolder({"generate.search=beam", "generate.search_iterations=10",
                                          "generate.search_beam_width=4",
                                          "generate.temperature=0.5", "train.max_updates=5"});
  EXPECT_EQ(summary.updates, 5);
  EXPECT_EQ(summary.examples, 5000);
}

// Scrambles of 0 and 1 action are always solved, so the share is at least half up to update 1.
TEST_F(SyncMain, ScramblesOfACurriculumBecomeLonger) {
  RunInFolder({"generate.curriculum=true", "train.max_updates=5"});
  const std::vector<nlohmann::json> lines = Metrics();
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[0]["longest_scramble"], 1);
  EXPECT_EQ(lines[0]["searches_solved"], 1.0);
  EXPECT_EQ(lines[1]["longest_scramble"], 2);
  EXPECT_GE(lines[1]["searches_solved"], 0.5);
  EXPECT_EQ(lines[2]["longest_scramble"], 4);
}

TEST_F(SyncMain, StoppedRunCanBeResumed) {
  {
    TrainRun run(MakeConfig({}), device_, RunDirectory::Create(folder_), never_);
    const StopAfter stop(run, 123);
    while (run.RunUpdate()) {
    }
    EXPECT_EQ(run.Finish().end, RunEnd::kStopped);
  }
  EXPECT_TRUE(fs::exists(folder_ / "replay-12.bin"));
  const RunDirectory directory = RunDirectory::Reopen(folder_);
  const Checkpoint checkpoint(directory.checkpoint());
  TrainRun run(LoadConfig(directory.config()), device_, directory, never_, {}, &checkpoint);
  while (run.RunUpdate()) {
  }
  const RunSummary summary = run.Finish();
  EXPECT_EQ(summary.updates, 30);
  EXPECT_EQ(summary.examples, 30'000);
  EXPECT_EQ(Metrics().size(), 30U);
  EXPECT_TRUE(fs::exists(folder_ / "replay-30.bin"));
}

TEST_F(SyncMain, NonFiniteLossEndsTheRunWithItsOwnError) {
  try {
    RunInFolder({"optimizer.learning_rate=10", "optimizer.weight_decay=10", "network.norm=none",
                 "train.max_updates=200"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(": the loss is "), std::string::npos);
  }
}

TEST_F(SyncMain, AutoMaxUpdatesWorksAsInOtherModes) {
  Config config = MakeConfig({"train.max_updates=auto", "train.max_seconds=2"});
  config = ResolveMaxUpdates(config, device_, Stopwatch(), never_);
  EXPECT_GE(config.train.max_updates, 1);
  EXPECT_LT(config.train.max_updates, 100'000);
}

}  // namespace
}  // namespace tandem
