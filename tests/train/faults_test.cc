// Tests that a failure at any stage of a run ends it with one message and a valid checkpoint.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/fault_point.h"
#include "base/file.h"
#include "base/stopwatch.h"
#include "nn/device.h"
#include "support/example_sets.h"
#include "support/small_run.h"
#include "support/temp_folder.h"
#include "support/wait.h"
#include "tandem/error.h"
#include "train/checkpoint.h"
#include "train/prepare_run.h"
#include "train/run_directory.h"
#include "train/train_run.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

constexpr const char* kSmall =
    "domain: {name: npuzzle, size: 3}\n"
    "generate: {max_scramble: 8, chunk_rows: 100, workers: 2, target: value_iteration}\n"
    "network: {width: 16, blocks: 1, norm: batch}\n"
    "train: {batch_size: 60, iterations_per_update: 5, max_updates: 6, threads: 1}\n"
    "validation: {every_updates: 0, states: 8}\n"
    "checkpoint: {every_updates: 2}\n";

const std::vector<std::string> kAsync = {"pipeline.mode=async"};
const std::vector<std::string> kSequential = {"pipeline.mode=sequential"};
const std::vector<std::string> kSyncMain = {"pipeline.mode=sync_main", "generate.search=greedy",
                                            "generate.search_iterations=5", "replay.updates=1"};
const std::vector<std::string> kReplay = {"replay.updates=1"};
const std::vector<std::string> kValidated = {"validation.every_updates=3"};
const std::vector<std::string> kNoPrefetch = {"prefetch.enabled=false"};
const std::vector<std::string> kSearch = {"generate.search=greedy", "generate.search_iterations=5",
                                          "generate.curriculum=true"};
const std::vector<std::string> kNetworks = {"checkpoint.keep_every=1"};
const std::vector<std::string> kShards = {"data.source=shards", "generate.target=walk_length"};

struct Case {
  std::string fault;  // for ArmFault
  std::string stage;
  std::vector<std::string> sets;
};

void PrintTo(const Case& test, std::ostream* out) { *out << test.fault; }

class InjectedFault : public testing::TestWithParam<Case> {
 protected:
  ~InjectedFault() override { ArmFault(""); }

  Config MakeConfig() {
    std::vector<std::string> sets = GetParam().sets;
    if (sets == kShards) {
      if (!fs::exists(shards_)) MakeShards(shards_);
      sets.push_back("data.path=" + shards_.string());
    }
    return ConfigWith(kSmall, sets, *device_);
  }

  const TempFolder temp_;
  const fs::path folder_ = temp_.path() / "run";
  const fs::path shards_ = temp_.path() / "shards";
  const std::shared_ptr<Device> device_ = OpenDevice("cpu");
  const StopSignal never_;
};

// An error must name the update that is repeated when the run resumes.
MATCHER_P(NamesTheUpdateOf, checkpoint, "") {
  const std::int64_t update = Checkpoint(checkpoint).Counters().updates;
  *result_listener << "the checkpoint continues with update " << update;
  return arg.starts_with("update " + std::to_string(update) + ", ");
}

TEST_P(InjectedFault, EndsTheRunWithItsStageAndAResumableCheckpoint) {
  const Config config = MakeConfig();
  {
    TrainRun run(config,
                 {.device = device_, .directory = RunDirectory::Create(folder_), .stop = never_});
    ArmFault(GetParam().fault);
    EXPECT_THAT([&] { ToTheEnd(run); },
                ThrowsMessage<Error>(AllOf(
                    StartsWith("update "), NamesTheUpdateOf(folder_ / "checkpoint.safetensors"),
                    HasSubstr(GetParam().stage + ": "),
                    AnyOf(HasSubstr("injected"), HasSubstr("out of memory; lower "),
                          HasSubstr("unknown exception (not derived from std::exception)")))));
    ArmFault("");
  }  // joins all threads; a thread that is left over would end the program
  const RunSummary resumed = ResumeRun(folder_, device_);
  EXPECT_EQ(resumed.updates, 6);
  if (GetParam().sets == kSyncMain) return;  // its weights depend on timing
  EXPECT_EQ(resumed.weights_sha256, TrainToTheEnd(config, device_).weights_sha256);
}

INSTANTIATE_TEST_SUITE_P(
    Async, InjectedFault,
    testing::Values(Case{"simulator:error:10", "generating rows", kAsync},
                    Case{"simulator:bad_alloc:10", "generating rows", kAsync},
                    Case{"simulator:unknown:10", "generating rows", kAsync},
                    Case{"evaluator:error:9", "generating rows", kAsync},
                    Case{"batch.load:error:12", "making batches", kAsync},
                    Case{"batch.load:bad_alloc:12", "making batches", kAsync},
                    Case{"batch.load:error:12", "making batches", kNoPrefetch},
                    Case{"train.step:error:13", "training", kAsync},
                    Case{"target.refresh:error:2", "refreshing the target network", kAsync},
                    Case{"validate:error", "validation", kValidated},
                    Case{"simulator:error:10", "generating rows", kSearch},
                    Case{"evaluator:bad_alloc:9", "generating rows", kSearch},
                    Case{"checkpoint.write:full", "writing a checkpoint", kAsync},
                    Case{"checkpoint.write:bad_alloc", "writing a checkpoint", kAsync},
                    Case{"checkpoint.write:unknown", "writing a checkpoint", kReplay},
                    Case{"checkpoint.write:full", "writing a checkpoint", kNetworks},
                    Case{"replay.write:full", "writing a checkpoint", kReplay},
                    Case{"metrics.write:full:3", "writing metrics", kAsync}));
INSTANTIATE_TEST_SUITE_P(Sequential, InjectedFault,
                         testing::Values(Case{"simulator:error:10", "generating rows", kSequential},
                                         Case{"evaluator:error:9", "generating rows", kSequential},
                                         Case{"batch.load:error:12", "making batches", kSequential},
                                         Case{"train.step:error:13", "training", kSequential},
                                         Case{"target.refresh:error:2",
                                              "refreshing the target network", kSequential}));
// Both threads of sync_main evaluate states, so a failure belongs to either stage.
INSTANTIATE_TEST_SUITE_P(
    SyncMain, InjectedFault,
    testing::Values(Case{"simulator:error:30", "", kSyncMain},
                    Case{"evaluator:error:15", "", kSyncMain},
                    Case{"evaluator:bad_alloc:15", "", kSyncMain},
                    Case{"metrics.write:full:3", "writing metrics", kSyncMain},
                    Case{"checkpoint.write:full", "writing a checkpoint", kSyncMain},
                    Case{"batch.load:error:12", "making batches", kSyncMain},
                    Case{"train.step:error:13", "training", kSyncMain},
                    Case{"replay.write:full", "writing a checkpoint", kSyncMain}));
INSTANTIATE_TEST_SUITE_P(Shards, InjectedFault,
                         testing::Values(Case{"shard.read:error:9", "reading shards", kShards},
                                         Case{"shard.read:bad_alloc:9", "reading shards", kShards},
                                         Case{"shard.transfer:error:9", "reading shards", kShards},
                                         Case{"checkpoint.write:full", "writing a checkpoint",
                                              kShards},
                                         Case{"train.step:error:13", "training", kShards}));

// The main thread is stuck in each iteration, and goes on before the watchdog would end the
// process.
TEST(Stall, EndsTheRunWithAnErrorAlsoIfTheThreadGoesOn) {
  const TempFolder temp;
  const fs::path folder = temp.path() / "run";
  const std::shared_ptr<Device> device = OpenDevice("cpu");
  const StopSignal never;
  const Config config = ConfigWith(kSmall, {"train.watchdog_seconds=8"}, *device);
  {
    TrainRun run(config,
                 {.device = device, .directory = RunDirectory::Create(folder), .stop = never});
    run.ObserveIterations(
        [](const TrainingProgress&) { TakeTime(std::chrono::milliseconds(8500)); });
    EXPECT_THAT(
        [&] { ToTheEnd(run); },
        ThrowsMessage<Error>(AllOf(StartsWith("update "), HasSubstr("the run made no progress"))));
  }
  const RunSummary resumed = ResumeRun(folder, device);
  EXPECT_EQ(resumed.updates, 6);
  EXPECT_EQ(resumed.weights_sha256, TrainToTheEnd(config, device).weights_sha256);
}

TEST(FaultPoints, UnknownFaultErrorListsThePoints) {
  for (const char* wrong : {"nothing:error", "simulator", "simulator:wrong", "simulator:error:0"}) {
    EXPECT_THAT([&] { ArmFault(wrong); },
                ThrowsMessage<InputError>(AllOf(HasSubstr(wrong), HasSubstr("checkpoint.write"))));
  }
}

// The files of a run that wrote a checkpoint after each update, and what changes in it.
class SeveralCheckpoints : public testing::Test {
 protected:
  Config MakeConfig(std::vector<std::string> sets = {}) {
    sets.insert(sets.end(), {"checkpoint.keep=3", "checkpoint.every_updates=1",
                             "validation.every_updates=1", "replay.updates=1"});
    return ConfigWith(kSmall, sets, *device_);
  }

  // Trains, and returns the summary of a run that ends by itself.
  RunSummary Train() {
    TrainRun run(MakeConfig(),
                 {.device = device_, .directory = RunDirectory::Create(folder_), .stop = never_});
    return ToTheEndWithEachCheckpoint(run);
  }

  std::vector<std::string> Names(const std::string& prefix) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with(prefix)) names.push_back(name);
    }
    std::ranges::sort(names);
    return names;
  }

  void Damage(const std::string& name) const {
    const fs::path file = folder_ / name;
    std::string content = ReadFile(file);
    content[content.size() / 2] ^= 4;
    WriteFileAtomically(file, content);
  }

  // Continues as `tandem train --resume` does. Returns the updates that the checkpoint had, and the
  // summary.
  std::pair<std::int64_t, RunSummary> GoOn() {
    const RunDirectory directory = RunDirectory::Reopen(folder_);
    std::int64_t from = 0;
    const auto run = OpenNewest(directory, [&](const fs::path& file) {
      const Checkpoint checkpoint(file);
      from = checkpoint.Counters().updates;
      return std::make_unique<TrainRun>(
          ConfigToResume(directory, checkpoint, {}),
          RunOptions{
              .device = device_, .directory = directory, .stop = never_, .from = &checkpoint});
    });
    return {from, ToTheEndWithEachCheckpoint(*run)};
  }

  ~SeveralCheckpoints() override { ArmFault(""); }

  const TempFolder temp_;
  const fs::path folder_ = temp_.path() / "run";
  const std::shared_ptr<Device> device_ = OpenDevice("cpu");
  const StopSignal never_;
};

TEST_F(SeveralCheckpoints, KeepsTheNewestAndTheirReplayRows) {
  Train();
  EXPECT_THAT(Names("previous-"),
              testing::ElementsAre("previous-4.safetensors", "previous-5.safetensors"));
  EXPECT_THAT(Names("replay-"),
              testing::ElementsAre("replay-4.bin", "replay-5.bin", "replay-6.bin"));
  EXPECT_EQ(Checkpoint(folder_ / "previous-5.safetensors").Counters().updates, 5);
  EXPECT_EQ(Checkpoint(folder_ / "previous-4.safetensors").Counters().updates, 4);
  fs::remove(folder_ / "checkpoint.safetensors");
  EXPECT_TRUE(RunDirectory::HasCheckpoint(folder_));
  EXPECT_FALSE(RunDirectory::HasCheckpoint(temp_.path()));
  EXPECT_FALSE(RunDirectory::HasCheckpoint(temp_.path() / "missing"));
}

TEST_F(SeveralCheckpoints, TrainingGoesOnWhileACheckpointIsWritten) {
  Config config = MakeConfig();
  config.replay.updates = 0;
  TrainRun run(config,
               {.device = device_, .directory = RunDirectory::Create(folder_), .stop = never_});
  ArmFault("checkpoint.write:hang");
  for (int update = 0; update < 3; ++update) EXPECT_TRUE(run.RunUpdate());
  EXPECT_EQ(Checkpoint(folder_ / "checkpoint.safetensors").Counters().updates, 0);
  ArmFault("");
  run.AwaitCheckpoint();
  EXPECT_EQ(Checkpoint(folder_ / "checkpoint.safetensors").Counters().updates, 1);
  EXPECT_TRUE(run.RunUpdate());  // starts the checkpoint that became due meanwhile
  run.AwaitCheckpoint();
  EXPECT_EQ(Checkpoint(folder_ / "checkpoint.safetensors").Counters().updates, 4);
  EXPECT_EQ(ToTheEndWithEachCheckpoint(run).weights_sha256,
            TrainToTheEnd(config, device_).weights_sha256);
}

TEST_F(SeveralCheckpoints, TrainingWaitsBeforeItReplacesReplayRowsThatAreBeingWritten) {
  Config config = MakeConfig();
  config.checkpoint.every_updates = 2;
  TrainRun run(config,
               {.device = device_, .directory = RunDirectory::Create(folder_), .stop = never_});
  ArmFault("checkpoint.write:hang");
  // Update 2, with which the checkpoint continues, needs the buffer that the checkpoint does not.
  for (int update = 0; update < 3; ++update) EXPECT_TRUE(run.RunUpdate());
  EXPECT_EQ(Checkpoint(folder_ / "checkpoint.safetensors").Counters().updates, 0);
  const auto released = std::async(std::launch::async, [] {
    TakeTime(std::chrono::milliseconds(50));  // an update that did not wait would be done
    ArmFault("");
  });
  EXPECT_TRUE(run.RunUpdate());
  EXPECT_GE(Checkpoint(folder_ / "checkpoint.safetensors").Counters().updates, 2);
  released.wait();
  EXPECT_EQ(ToTheEndWithEachCheckpoint(run).updates, 6);
}

// A checkpoint that fails must not count as one that exists.
TEST_F(SeveralCheckpoints, FailureToWriteOneKeepsTheOnesBefore) {
  {
    TrainRun run(MakeConfig(),
                 {.device = device_, .directory = RunDirectory::Create(folder_), .stop = never_});
    for (int update = 0; update < 3; ++update) {
      EXPECT_TRUE(run.RunUpdate());
      run.AwaitCheckpoint();
    }
    ArmFault("checkpoint.write:full");
    EXPECT_TRUE(run.RunUpdate());
    EXPECT_THAT([&] { ToTheEndWithEachCheckpoint(run); },
                ThrowsMessage<Error>(
                    AllOf(StartsWith("update "), HasSubstr(", writing a checkpoint: injected"))));
    ArmFault("");
  }
  EXPECT_THAT(Names("previous-"),
              testing::ElementsAre("previous-2.safetensors", "previous-3.safetensors"));
  for (const char* name : {"previous-2.safetensors", "previous-3.safetensors"}) {
    EXPECT_EQ(fmt::format("previous-{}.safetensors", Checkpoint(folder_ / name).Counters().updates),
              name);
  }
  EXPECT_GE(Checkpoint(folder_ / "checkpoint.safetensors").Counters().updates, 4);
  EXPECT_EQ(GoOn().second.updates, 6);
}

TEST_F(SeveralCheckpoints, ResumeAfterDamageGivesSameWeights) {
  const RunSummary whole = Train();
  Damage("checkpoint.safetensors");
  Damage("replay-5.bin");  // so previous-5.safetensors cannot be used either
  const auto [from, resumed] = GoOn();
  EXPECT_EQ(from, 4);
  EXPECT_EQ(resumed.weights_sha256, whole.weights_sha256);
  EXPECT_EQ(resumed.best_update, whole.best_update);
  EXPECT_EQ(resumed.best->solve_rate, whole.best->solve_rate);
  EXPECT_EQ(Checkpoint(folder_ / "checkpoint.safetensors").Counters().updates, 6);
  EXPECT_EQ(Checkpoint(folder_ / "previous-5.safetensors").Counters().updates, 5);
}

TEST_F(SeveralCheckpoints, ErrorNamesTheNewestIfAllAreDamaged) {
  Train();
  for (const char* name :
       {"checkpoint.safetensors", "previous-5.safetensors", "previous-4.safetensors"})
    Damage(name);
  EXPECT_THAT([&] { GoOn(); }, ThrowsMessage<DamagedFile>(HasSubstr("checkpoint.safetensors")));
}

TEST_F(SeveralCheckpoints, ResumeKeepsTheCheckpointThatItBeganFrom) {
  Train();
  Damage("checkpoint.safetensors");
  {
    const RunDirectory directory = RunDirectory::Reopen(folder_);
    const Checkpoint checkpoint(folder_ / "previous-5.safetensors");
    const TrainRun run(
        ConfigToResume(directory, checkpoint, {}),
        {.device = device_, .directory = directory, .stop = never_, .from = &checkpoint});
  }  // as after a kill: nothing new has been saved
  EXPECT_EQ(GoOn().first, 5);
}

}  // namespace
}  // namespace tandem
