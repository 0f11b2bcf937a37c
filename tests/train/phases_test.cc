// Tests runs whose last part has other settings (`phases`).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/fault_point.h"
#include "base/file.h"
#include "config/load.h"
#include "nn/device.h"
#include "support/small_run.h"
#include "support/source_folder.h"
#include "support/temp_folder.h"
#include "tandem/error.h"
#include "train/checkpoint.h"
#include "train/resume.h"
#include "train/run_directory.h"
#include "train/train_run.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

// Update 4 is the first one of phase 1.
constexpr const char* kSmall =
    "domain: {name: npuzzle, size: 3}\n"
    "network: {width: 32, blocks: 1, norm: batch}\n"
    "generate: {max_scramble: 8, chunk_rows: 150}\n"
    "optimizer: {schedule: linear, learning_rate: 0.001, final_learning_rate: 0.0001}\n"
    "train: {batch_size: 60, iterations_per_update: 5, max_updates: 7, threads: 1}\n"
    "inference: {threads: 1}\n"
    "validation: {every_updates: 2, states: 16}\n"
    "checkpoint: {every_updates: 3}\n"
    "phases:\n"
    "  - from: 0.58\n";

constexpr const char* kBellman =
    "    generate: {target: capped_value_iteration, ball_radius: 2, anchor_share: 0.2}\n"
    "    optimizer: {schedule: constant, learning_rate: 0.0005}\n";

const std::vector<std::string> kCurriculum = {
    "generate.target=value_iteration", "generate.search=greedy", "generate.search_iterations=10",
    "generate.curriculum=true"};

// The settings of a phase that learns from the solved paths of a file in data/.
std::string LearnFrom(const std::string& file) {
  return "    generate: {target: supervised, paths: '" + (SourceFolder() / "data" / file).string() +
         "'}\n";
}

struct Case {
  std::string name;
  std::string phase;              // the settings of phase 1
  std::vector<std::string> sets;  // settings of the run
};

class PhasedRun : public testing::Test {
 protected:
  Config MakeConfig(const std::string& phase, const std::vector<std::string>& sets = {}) const {
    return ConfigWith(kSmall + phase, sets, *device_);
  }

  RunSummary Straight(const Config& config) const { return TrainToTheEnd(config, device_); }

  RunSummary InFolder(const Config& config) const {
    return TrainToTheEnd(config, device_, RunDirectory::Create(folder_));
  }

  RunSummary GoOn() {
    const RunDirectory directory = RunDirectory::Reopen(folder_);
    const Checkpoint checkpoint(directory.checkpoint());
    TrainRun run(ConfigToResume(directory, checkpoint, {}),
                 {.device = device_, .directory = directory, .stop = never_, .from = &checkpoint});
    return ToTheEnd(run);
  }

  const TempFolder temp_;
  const fs::path folder_ = temp_.path() / "run";
  const std::shared_ptr<Device> device_ = OpenDevice("cpu");
  const StopSignal never_;
};

TEST_F(PhasedRun, FirstPartEqualsARunOfItsOwnAndPhaseKeepsItsWeights) {
  const std::string frozen =
      "    optimizer: {learning_rate: 0, final_learning_rate: 0, schedule: constant}\n";
  const Config config = MakeConfig(frozen, {"network.norm=layer"});
  const Config alone =
      MakeConfig(frozen, {"network.norm=layer", "phases=null", "train.max_updates=4"});
  EXPECT_EQ(Straight(config).weights_sha256, Straight(alone).weights_sha256);
}

TEST_F(PhasedRun, MetricsNameThePhaseAndItsScheduleBeginsAgain) {
  const Config config = MakeConfig("    optimizer: {learning_rate: 0.01}\n");
  const RunSummary summary = InFolder(config);
  EXPECT_EQ(summary.updates, 7);
  EXPECT_EQ(summary.phase, 1);
  EXPECT_EQ(summary.phase_began, 4);
  const std::vector<nlohmann::json> lines = MetricsOf(folder_);
  ASSERT_EQ(lines.size(), 7);
  for (int update = 0; update < 7; ++update) {
    EXPECT_EQ(lines[update]["update"], update);
    EXPECT_EQ(lines[update]["phase"], update < 4 ? 0 : 1);
  }
  // The linear schedule of each part ends with the part.
  EXPECT_NEAR(lines[3]["learning_rate"], 0.0001, 1e-9);
  EXPECT_GT(lines[4]["learning_rate"], 0.005);
  EXPECT_NEAR(lines[6]["learning_rate"], 0.0001, 1e-9);
  EXPECT_EQ(nlohmann::json::parse(ReadFile(folder_ / "summary.json"))["phase"], 1);
}

TEST_F(PhasedRun, RowsAfterTheSwitchAreOfTheNewPhase) {
  // The buffer of update 4 is filled after the switch, so the weights at the switch label it.
  InFolder(MakeConfig(kBellman));
  const std::vector<nlohmann::json> lines = MetricsOf(folder_);
  ASSERT_EQ(lines.size(), 7);
  EXPECT_EQ(lines[3]["lag_updates"], 0);  // walk lengths need no network
  EXPECT_EQ(lines[4]["lag_updates"], 0);  // labelled by the weights at the switch
  EXPECT_EQ(lines[5]["lag_updates"], 1);
  EXPECT_EQ(lines[6]["lag_updates"], 1);
}

TEST_F(PhasedRun, CurriculumGoesOnFromTheLengthThatItReached) {
  InFolder(MakeConfig("    generate: {max_scramble: 6}\n", kCurriculum));
  const std::vector<nlohmann::json> lines = MetricsOf(folder_);
  ASSERT_EQ(lines.size(), 7);
  EXPECT_EQ(lines[0]["longest_scramble"], 1);
  // Scrambles of 0 and 1 action are always solved, so the longest one doubles twice at least.
  EXPECT_EQ(lines[2]["longest_scramble"], 4);
  const auto before = lines[3]["longest_scramble"].get<std::int64_t>();
  const auto after = lines[4]["longest_scramble"].get<std::int64_t>();
  EXPECT_GE(after, std::min<std::int64_t>(before, 6));
  EXPECT_LE(after, 6);
}

TEST_F(PhasedRun, LimitsOfThePuzzleAreFoundBeforeTheRunBegins) {
  const Config config =
      MakeConfig("    generate: {ball_radius: 25}\n", {"memory.ball_limit_gib=0.001"});
  EXPECT_THAT(
      [&] {
        TrainRun(config,
                 {.device = device_, .directory = RunDirectory::Create(folder_), .stop = never_});
      },
      ThrowsMessage<InputError>(HasSubstr("phase 1: `generate.ball_radius: 25`")));
}

TEST_F(PhasedRun, SolvedPathsAreReadBeforeTheRunBegins) {
  const Config config = MakeConfig(LearnFrom("missing.jsonl"));
  EXPECT_THAT(
      [&] {
        TrainRun(config,
                 {.device = device_, .directory = RunDirectory::Create(folder_), .stop = never_});
      },
      ThrowsMessage<InputError>(AllOf(HasSubstr("phase 1: "), HasSubstr("missing.jsonl"))));
}

TEST_F(PhasedRun, ResumeRejectsOtherPhasesAndAnotherNumberOfUpdates) {
  InFolder(MakeConfig(kBellman));
  const RunDirectory directory = RunDirectory::Reopen(folder_);
  const Checkpoint checkpoint(directory.checkpoint());
  EXPECT_THAT(
      [&] { ConfigToResume(directory, checkpoint, {ParseOverride("train.max_updates=9")}); },
      ThrowsMessage<InputError>(HasSubstr("its phases begin at shares of the run")));
  std::string yaml = ReadFile(directory.config());
  const std::size_t at = yaml.find("0.58");
  ASSERT_NE(at, std::string::npos);
  WriteFileAtomically(directory.config(), yaml.replace(at, 4, "0.72"));
  EXPECT_THAT([&] { ConfigToResume(directory, checkpoint, {}); },
              ThrowsMessage<InputError>(HasSubstr("phases differ")));
}

TEST_F(PhasedRun, FilesOfAPhaseMayHaveMovedWhenARunIsResumed) {
  const fs::path paths = temp_.path() / "paths.jsonl";
  fs::copy_file(SourceFolder() / "data/puzzle8_solved.jsonl", paths);
  {
    TrainRun run(MakeConfig(LearnFrom(paths.string())),
                 {.device = device_, .directory = RunDirectory::Create(folder_), .stop = never_});
    run.RunUpdate();
    run.RequestStop();
    ToTheEnd(run);
  }
  fs::rename(paths, temp_.path() / "moved.jsonl");
  std::string yaml = ReadFile(folder_ / "config.yaml");
  const std::size_t at = yaml.find("paths.jsonl");
  ASSERT_NE(at, std::string::npos);
  WriteFileAtomically(folder_ / "config.yaml", yaml.replace(at, 11, "moved.jsonl"));
  EXPECT_EQ(GoOn().updates, 7);
}

class Switch : public PhasedRun, public testing::WithParamInterface<Case> {
 protected:
  Config MakeConfig(std::vector<std::string> more = {}) const {
    more.insert(more.end(), GetParam().sets.begin(), GetParam().sets.end());
    return PhasedRun::MakeConfig(GetParam().phase, more);
  }

  // The weights that the interrupted and resumed run must have.
  void ExpectTheSame(const RunSummary& resumed) {
    const RunSummary whole = Straight(MakeConfig());
    EXPECT_EQ(resumed.weights_sha256, whole.weights_sha256);
    EXPECT_EQ(resumed.final_loss, whole.final_loss);
    EXPECT_EQ(resumed.updates, 7);
    EXPECT_EQ(resumed.phase, 1);
    EXPECT_EQ(MetricsOf(folder_).size(), 7);
  }
};

TEST_P(Switch, AsyncEqualsSequentialWithLagOne) {
  EXPECT_EQ(
      Straight(MakeConfig({"pipeline.mode=async"})).weights_sha256,
      Straight(MakeConfig({"pipeline.mode=sequential", "pipeline.policy_lag=1"})).weights_sha256);
}

TEST_P(Switch, ResumeAfterStopGivesSameWeights) {
  for (const std::int64_t at : {17, 20, 21, 25, 31}) {  // around update 4, which begins phase 1
    fs::remove_all(folder_);
    {
      TrainRun run(MakeConfig(),
                   {.device = device_, .directory = RunDirectory::Create(folder_), .stop = never_});
      EachIteration stop([&](const TrainingProgress& progress) {
        EXPECT_EQ(progress.phase, progress.iterations > 20 ? 1 : 0);
        if (progress.iterations == at) run.RequestStop();
      });
      run.AddObserver(stop);
      EXPECT_EQ(ToTheEnd(run).iterations, at);
    }
    ExpectTheSame(GoOn());
  }
}

TEST_P(Switch, ResumeAfterKillGivesSameWeights) {
  const fs::path copy = temp_.path() / "copy";  // the folder as a kill would leave it
  for (const std::int64_t at : {18, 22, 28}) {
    fs::remove_all(folder_);
    fs::remove_all(copy);
    {
      TrainRun run(MakeConfig(),
                   {.device = device_, .directory = RunDirectory::Create(folder_), .stop = never_});
      EachIteration kill([&](const TrainingProgress& progress) {
        if (progress.iterations != at) return;
        run.AwaitCheckpoint();
        fs::copy(folder_, copy, fs::copy_options::recursive);
      });
      run.AddObserver(kill);
      ToTheEnd(run);
    }
    fs::remove_all(folder_);
    fs::rename(copy, folder_);
    ExpectTheSame(GoOn());
  }
}

TEST_P(Switch, ResumeAfterFailureInTheFirstUpdateOfThePhaseGivesSameWeights) {
  {
    TrainRun run(MakeConfig(),
                 {.device = device_, .directory = RunDirectory::Create(folder_), .stop = never_});
    EachIteration fail([](const TrainingProgress& progress) {
      if (progress.iterations == 22) throw Error("out of luck");
    });
    run.AddObserver(fail);
    EXPECT_THROW(ToTheEnd(run), Error);
  }
  EXPECT_EQ(Checkpoint(folder_ / "checkpoint.pt").Counters().updates, 4);
  ExpectTheSame(GoOn());
}

// The checkpoint before the phase and the one after a failure in its first update continue with the
// same update, but replay is empty in the second. A kill may come while the second is written.
TEST_F(PhasedRun, KillWhileTheFirstCheckpointOfAPhaseIsWrittenKeepsTheReplayRowsOfTheOneBefore) {
  const Config config = MakeConfig(kBellman, {"replay.updates=2"});
  {
    TrainRun run(config,
                 {.device = device_, .directory = RunDirectory::Create(folder_), .stop = never_});
    EachIteration fail([](const TrainingProgress& progress) {
      if (progress.iterations != 22) return;
      ArmFault("checkpoint.write:error");
      throw Error("out of luck");
    });
    run.AddObserver(fail);
    EXPECT_THROW(ToTheEnd(run), Error);
    ArmFault("");
  }
  EXPECT_EQ(Checkpoint(folder_ / "checkpoint.pt").Counters().phase, 0);
  EXPECT_EQ(GoOn().weights_sha256, Straight(config).weights_sha256);
}

INSTANTIATE_TEST_SUITE_P(
    All, Switch,
    testing::Values(
        Case{"walks_then_bellman", kBellman, {}},
        Case{"walks_then_walks", "    generate: {max_scramble: 5}\n", {"optimizer.name=sgd"}},
        Case{"walks_then_solved_paths", LearnFrom("puzzle8_solved.jsonl"), {}},
        Case{"policy_then_own_solutions",
             "    generate: {target: own_solutions, search: greedy, search_iterations: 8}\n",
             {"network.head=policy", "generate.target=policy"}},
        Case{"hindsight_of_q",
             "    generate: {target: value_iteration, search: greedy, search_iterations: 5, "
             "hindsight: true}\n",
             {"domain.name=grid", "domain.size=6", "network.head=q"}},
        Case{"replay_begins_again", kBellman, {"replay.updates=2"}},
        Case{"sparse_q_then_bellman", kBellman, {"network.head=q", "replay.updates=1"}},
        Case{"moving_average", kBellman, {"train.ema_decay=0.9"}},
        Case{"refresh_by_solve_rate",
             std::string(kBellman) + "    pipeline: {refresh: solve_rate, refresh_margin: 0}\n",
             {}},
        Case{"curriculum", "    generate: {max_scramble: 6}\n", kCurriculum},
        Case{"growing_batches", kBellman, {"train.batch_doubles_every=3"}}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace tandem
