// Tests runs that train from shards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "nn/device.h"
#include "support/example_sets.h"
#include "support/small_run.h"
#include "support/temp_folder.h"
#include "tandem/error.h"
#include "train/train_run.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

// An update has 300 rows, so epochs of 1,000 rows end in the middle of updates.
constexpr const char* kSmallPuzzle =
    "domain: {name: npuzzle, size: 3}\n"
    "network: {width: 32, blocks: 1}\n"
    "train: {batch_size: 60, iterations_per_update: 5, max_updates: 8, threads: 1}\n"
    "inference: {threads: 1}\n"
    "validation: {every_updates: 0}\n";

class FromShards : public testing::Test {
 protected:
  FromShards() { MakeShards(shards_); }

  Config MakeConfig(const std::vector<std::string>& sets = {}) const {
    std::vector<std::string> all = {"data.source=shards", "data.path=" + shards_.string()};
    all.insert(all.end(), sets.begin(), sets.end());
    return ConfigWith(kSmallPuzzle, all, *device_);
  }

  RunSummary Run(const std::vector<std::string>& sets = {}) const {
    return TrainToTheEnd(MakeConfig(sets), device_);
  }

  RunSummary RunStopped(std::int64_t iterations, const std::vector<std::string>& sets) const {
    TrainRun run(MakeConfig(sets),
                 {.device = device_, .directory = RunDirectory::Create(folder_), .stop = never_});
    StopAfter(run, iterations);
    return ToTheEnd(run);
  }

  const TempFolder temp_;
  const fs::path shards_ = temp_.path() / "shards", folder_ = temp_.path() / "run";
  const std::shared_ptr<Device> device_ = OpenDevice("cpu");
  const StopSignal never_;
};

TEST_F(FromShards, TwoRunsEndInEqualWeights) {
  const RunSummary summary = Run();
  EXPECT_EQ(Run().weights_sha256, summary.weights_sha256);
  EXPECT_EQ(Run({"pipeline.mode=sequential"}).weights_sha256, summary.weights_sha256);
  EXPECT_NE(Run({"seed=2"}).weights_sha256, summary.weights_sha256);
  EXPECT_EQ(summary.examples, 8 * 300);
  ASSERT_TRUE(summary.sections.contains("data"));
  EXPECT_EQ(summary.sections["data"]["rows"], 8 * 300);
  EXPECT_GT(summary.time.cold_start_s, 0);  // the wait for the first chunk
  EXPECT_LT(summary.final_loss, Run({"train.max_updates=1"}).final_loss);
}

TEST_F(FromShards, ResumeInTheMiddleOfAnEpochGivesSameWeights) {
  const std::vector<std::vector<std::string>> kinds = {
      {},
      {"data.live_share=0.25"},
      {"data.live_share=0.25", "generate.target=value_iteration", "replay.updates=1"}};
  for (const std::vector<std::string>& sets : kinds) {
    const std::string whole = Run(sets).weights_sha256;
    for (const std::int64_t at : {1, 13, 15, 34}) {  // in and between updates
      fs::remove_all(folder_);
      EXPECT_EQ(RunStopped(at, sets).end, RunEnd::kStopped);
      const RunSummary resumed = ResumeRun(folder_, device_);
      EXPECT_EQ(resumed.weights_sha256, whole) << at;
      EXPECT_EQ(resumed.updates, 8);
    }
  }
}

TEST_F(FromShards, SummaryOfAResumedRunCountsShardsSinceItsStart) {
  RunStopped(13, {});  // 2 whole updates
  const RunSummary resumed = ResumeRun(folder_, device_);
  EXPECT_EQ(resumed.since_update, 2);
  EXPECT_EQ(resumed.sections["data"]["rows"], 6 * 300);
  EXPECT_EQ(resumed.sections["data"]["training"]["bytes"], 6 * 300 * 13);
  const auto summary = nlohmann::json::parse(ReadFile(folder_ / "summary.json"));
  EXPECT_EQ(summary["since_update"], 2);
  EXPECT_EQ(summary["examples"], 8 * 300);
}

TEST_F(FromShards, SummaryReportsEachStage) {
  RunStopped(1'000'000, {});
  const auto summary = nlohmann::json::parse(ReadFile(folder_ / "summary.json"));
  const auto& data = summary["data"];
  EXPECT_EQ(data["rows"], 8 * 300);
  EXPECT_DOUBLE_EQ(data["epochs"].get<double>(), 2.4);
  for (const char* stage : {"disk", "transfer", "training"}) {
    EXPECT_GT(data[stage]["bytes"].get<std::int64_t>(), 8 * 300 * 13 - 1) << stage;
    EXPECT_GT(data[stage]["gb_per_s"].get<double>(), 0) << stage;
  }
  EXPECT_GT(summary["time"]["disk"]["activities"]["disk_load"].get<double>(), 0);
}

TEST_F(FromShards, MetricsHaveAFillWithoutLengthWithinTheRun) {
  RunStopped(1'000'000, {});
  for (const nlohmann::json& line : MetricsOf(folder_)) {
    EXPECT_EQ(line["generate_s"].get<double>(), 0);
    EXPECT_GE(line["generate_began_s"].get<double>(), 0);
    EXPECT_LE(line["generate_began_s"].get<double>(), line["elapsed_s"].get<double>());
  }
}

TEST_F(FromShards, RejectsShardsOfAnotherPuzzle) {
  try {
    Run({"domain.size=4"});
    FAIL() << "nothing was thrown";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("npuzzle:3"), HasSubstr("expected npuzzle:4")));
  }
}

}  // namespace
}  // namespace tandem
