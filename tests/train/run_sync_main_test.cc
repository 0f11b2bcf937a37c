// Tests small whole runs in sync_main. The weights that a search uses depend on timing, so tests
// compare no weights that were trained for more than one update.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "nn/device.h"
#include "support/small_run.h"
#include "support/temp_folder.h"
#include "tandem/error.h"
#include "train/resolve.h"
#include "train/train_run.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSmallSyncMain =
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
    return ConfigWith(domain_ + kSmallSyncMain, sets, *device_);
  }

  RunSummary RunInFolder(const std::vector<std::string>& sets) const {
    return TrainToTheEnd(MakeConfig(sets), device_, RunDirectory::Create(folder_));
  }

  std::string domain_ = "domain: {name: npuzzle, size: 3}\n";
  const TempFolder temp_;
  const fs::path folder_ = temp_.path() / "run";
  const std::shared_ptr<Device> device_ = OpenDevice("cpu");
  const StopSignal never_;
};

TEST_F(SyncMain, LearnsAndReportsItsTime) {
  const RunSummary summary = RunInFolder({"validation.every_updates=30"});
  EXPECT_EQ(summary.end, RunEnd::kAllUpdates);
  EXPECT_EQ(summary.examples, 30'000);
  const std::vector<nlohmann::json> lines = MetricsOf(folder_);
  ASSERT_EQ(lines.size(), 30U);
  ASSERT_TRUE(summary.at_start.has_value());
  EXPECT_GT(summary.validation->solve_rate, summary.at_start->solve_rate + 0.2);
  double serve_s = 0;
  for (const nlohmann::json& line : lines) {
    EXPECT_EQ(line["lag_updates"], 0);
    EXPECT_EQ(line["target_age_iterations"], 0);
    EXPECT_GT(line["label_s"], 0.0);
    EXPECT_GT(line["update_s"], line["label_s"]);
    serve_s += line["serve_s"].get<double>();
  }
  EXPECT_GT(serve_s, 0);
}

TEST_F(SyncMain, WorksWithAQNetAndAStar) {
  const RunSummary summary =
      RunInFolder({"network.head=q", "generate.search=astar", "generate.target=value_iteration",
                   "train.max_updates=5", "pipeline.loss_thresh=0"});
  EXPECT_EQ(summary.updates, 5);
  // The loss of an update is never 0, so the target network is never refreshed.
  EXPECT_EQ(MetricsOf(folder_).back()["target_age_iterations"], 4 * 10);
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
  const std::vector<nlohmann::json> lines = MetricsOf(folder_);
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[0]["longest_scramble"], 1);
  EXPECT_EQ(lines[0]["searches_solved"], 1.0);
  EXPECT_EQ(lines[1]["longest_scramble"], 2);
  EXPECT_GE(lines[1]["searches_solved"], 0.5);
  EXPECT_EQ(lines[2]["longest_scramble"], 4);
}

TEST_F(SyncMain, StoppedRunCanBeResumed) {
  {
    TrainRun run(MakeConfig({}),
                 {.device = device_, .directory = RunDirectory::Create(folder_), .stop = never_});
    StopAfter(run, 123);
    EXPECT_EQ(ToTheEnd(run).end, RunEnd::kStopped);
  }
  EXPECT_TRUE(fs::exists(folder_ / "replay-12.bin"));
  const RunSummary summary = ResumeRun(folder_, device_);
  EXPECT_EQ(summary.updates, 30);
  EXPECT_EQ(summary.examples, 30'000);
  EXPECT_EQ(MetricsOf(folder_).size(), 30U);
  EXPECT_TRUE(fs::exists(folder_ / "replay-30.bin"));
}

class SyncMainOfGames : public SyncMain {
 protected:
  SyncMainOfGames() { domain_ = "domain: {name: tic_tac_toe}\n"; }

  static std::vector<std::string> Games(const std::vector<std::string>& more) {
    std::vector<std::string> sets = {"generate.target=self_play", "generate.search=none",
                                     "generate.simulations=6",    "generate.max_scramble=9",
                                     "network.head=vp",           "network.norm=layer"};
    sets.insert(sets.end(), more.begin(), more.end());
    return sets;
  }

  RunSummary Play(const std::vector<std::string>& more) const {
    fs::remove_all(folder_);
    return RunInFolder(Games(more));
  }

  std::vector<double> Losses() const {
    std::vector<double> losses;
    for (const nlohmann::json& line : MetricsOf(folder_)) losses.push_back(line["loss"]);
    return losses;
  }
};

TEST_F(SyncMainOfGames, LearnsWithoutATargetNetwork) {
  EXPECT_EQ(Play({}).examples, 30'000);
  const std::vector<nlohmann::json> lines = MetricsOf(folder_);
  ASSERT_EQ(lines.size(), 30U);
  EXPECT_LT(lines.back()["loss"], 0.9 * lines.front()["loss"].get<double>());
  for (const nlohmann::json& line : lines) {
    EXPECT_EQ(line["lag_updates"], 0);
    EXPECT_EQ(line["label_s"], 0);
    EXPECT_GT(line["serve_s"], 0.0);
    EXPECT_GE(line["update_s"], line["serve_s"]);
  }
  EXPECT_EQ(ReadFile(folder_ / "checkpoint.safetensors").find("target_network"), std::string::npos);
}

// As long as the weights are the same, timing decides nothing.
TEST_F(SyncMainOfGames, RowsAreThoseOfSequentialIfTheWeightsAre) {
  const std::string sequential = "pipeline.mode=sequential";
  const std::string first = "train.max_updates=1";
  EXPECT_EQ(Play({first}).weights_sha256, Play({first, sequential}).weights_sha256);
  std::vector<std::string> constant = {"train.max_updates=6", "optimizer.learning_rate=0",
                                       "optimizer.final_learning_rate=0",
                                       "optimizer.weight_decay=0"};
  Play(constant);
  const std::vector<double> losses = Losses();
  constant.push_back(sequential);
  Play(constant);
  EXPECT_EQ(Losses(), losses);
}

TEST_F(SyncMainOfGames, StoppedRunCanBeResumed) {
  {
    TrainRun run(MakeConfig(Games({})),
                 {.device = device_, .directory = RunDirectory::Create(folder_), .stop = never_});
    StopAfter(run, 123);
    EXPECT_EQ(ToTheEnd(run).end, RunEnd::kStopped);
  }
  const RunSummary summary = ResumeRun(folder_, device_);
  EXPECT_EQ(summary.updates, 30);
  EXPECT_EQ(summary.examples, 30'000);
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
  Config config = MakeConfig({"train.max_updates=auto", "train.max_seconds=200"});
  testing::internal::CaptureStderr();
  config = ResolveMaxUpdates(config, {.device = device_, .stop = never_});
  EXPECT_EQ(testing::internal::GetCapturedStderr().find("no iteration ended within"),
            std::string::npos);
  EXPECT_TRUE(config.train.follows_clock);
  EXPECT_GT(config.train.max_updates, 1);
}

}  // namespace
}  // namespace tandem
