// Tests small whole runs on the cube.
#include "train/train_run.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "config/load.h"
#include "config/update_plan.h"
#include "nn/backend.h"
#include "nn/device.h"
#include "nn/inference_net.h"
#include "nn/resnet_fc.h"
#include "support/path_domain.h"
#include "support/recording_device.h"
#include "support/small_run.h"
#include "support/temp_folder.h"
#include "support/wait.h"
#include "tandem/error.h"
#include "tandem/registry.h"
#include "train/checkpoint.h"
#include "train/loaded_model.h"
#include "train/resolve.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr const char* kSmall =
    "network: {width: 32, blocks: 1}\n"
    "generate: {max_scramble: 8, chunk_rows: 300}\n"
    "train: {batch_size: 100, iterations_per_update: 5, max_updates: 6, threads: 2}\n";

Config MakeConfig(const std::vector<std::string>& sets, const Device& device) {
  return ConfigWith(kSmall, sets, device);
}

RunSummary RunToTheEnd(const std::vector<std::string>& sets,
                       std::optional<RunDirectory> directory = std::nullopt) {
  const std::shared_ptr<Device> device = OpenDevice("cpu");
  return TrainToTheEnd(MakeConfig(sets, *device), device, std::move(directory));
}

// The config keys that select how examples are generated.
struct Source {
  std::string name;
  bool needs_network;
  std::vector<std::string> sets;
};

class Target : public testing::TestWithParam<Source> {
 protected:
  std::string Weights(std::vector<std::string> sets) const {
    const std::vector<std::string>& more = GetParam().sets;
    sets.insert(sets.end(), more.begin(), more.end());
    return RunToTheEnd(sets).weights_sha256;
  }
};

TEST_P(Target, AsyncEqualsSequentialWithLagOne) {
  const std::string async = Weights({"pipeline.mode=async"});
  EXPECT_EQ(async, Weights({"pipeline.mode=sequential", "pipeline.policy_lag=1"}));
  EXPECT_EQ(async == Weights({"pipeline.mode=sequential", "pipeline.policy_lag=0"}),
            !GetParam().needs_network);
}

TEST(TrainRun, TensorProgramOfWalksGivesTheWeightsOfTheDomainsCode) {
  for (const char* mode : {"pipeline.mode=async", "pipeline.mode=sequential"}) {
    EXPECT_EQ(RunToTheEnd({mode, "generate.program=tensor"}).weights_sha256,
              RunToTheEnd({mode, "generate.program=domain"}).weights_sha256);
  }
  EXPECT_EQ(RunToTheEnd({"domain.input=pieces", "generate.program=tensor"}).weights_sha256,
            RunToTheEnd({"domain.input=pieces", "generate.program=domain"}).weights_sha256);
}

TEST(TrainRun, TensorProgramOfValueIterationTrainsInBothModesAlike) {
  const auto weights = [](const std::string& mode) {
    return RunToTheEnd({"generate.target=value_iteration", "generate.program=tensor",
                        "pipeline.policy_lag=1", "pipeline.mode=" + mode})
        .weights_sha256;
  };
  EXPECT_EQ(weights("async"), weights("sequential"));
}

TEST(TrainRun, TensorProgramRefusesAPuzzleWithoutFixedPermutations) {
  EXPECT_THROW(RunToTheEnd({"domain.name=npuzzle", "generate.program=tensor"}), InputError);
}

TEST(TrainRun, WeightsOfFusedStepsDoNotDependOnModeOrThreads) {
  const std::shared_ptr<Device> cpu = OpenDevice("cpu");
  for (const char* precision : {"train.precision=fp32", "train.precision=bf16"}) {
    if (MakeConfig({"backend=auto", precision}, *cpu).train.backend != BackendKind::kCpu) {
      GTEST_SKIP() << "this CPU has no fused step";
    }
    const auto weights = [&](std::vector<std::string> sets) {
      sets.insert(sets.end(), {"backend=cpu", precision, "generate.target=value_iteration",
                               "inference.precision=fp32", "inference.threads=1"});
      return RunToTheEnd(sets).weights_sha256;
    };
    const std::string async = weights({"pipeline.mode=async"});
    EXPECT_EQ(async, weights({"pipeline.mode=sequential", "pipeline.policy_lag=1"}));
    EXPECT_EQ(async, weights({"train.threads=1"}));
    EXPECT_EQ(async, weights({"train.threads=3"}));
    EXPECT_NE(async, weights({"seed=2"}));
  }
}

TEST_P(Target, WeightsDoNotDependOnWorkersOrPrefetch) {
  const std::string one = Weights({"generate.workers=1"});
  EXPECT_EQ(one, Weights({"generate.workers=2"}));
  EXPECT_EQ(one, Weights({"generate.workers=4"}));
  EXPECT_EQ(one, Weights({"prefetch.depth=5"}));
  EXPECT_NE(one, Weights({"seed=2"}));
}

INSTANTIATE_TEST_SUITE_P(
    All, Target,
    testing::Values(
        Source{"walk_length", false, {"generate.target=walk_length"}},
        Source{"value_iteration", true, {"generate.target=value_iteration"}},
        Source{"replay", false, {"replay.updates=2"}},
        Source{"sparse_q_with_replay", false, {"network.head=q", "replay.updates=2"}},
        Source{"policy", false, {"network.head=policy", "generate.target=policy"}},
        Source{"convolutions",
               true,
               {"generate.target=value_iteration", "domain.name=npuzzle", "domain.size=3",
                "network.kind=resnet_2d", "network.norm=batch", "network.channels=4"}},
        Source{"greedy_with_replay",
               true,
               {"generate.target=capped_value_iteration", "generate.search=greedy",
                "generate.search_iterations=20", "replay.updates=2"}},
        Source{"astar_q",
               true,
               {"generate.target=value_iteration", "generate.search=astar",
                "generate.search_iterations=15", "network.head=q"}},
        Source{"beam_with_lhbl",
               true,
               {"generate.target=value_iteration", "generate.search=beam",
                "generate.search_iterations=10", "generate.search_beam_width=5",
                "generate.temperature=0.5", "generate.backup=lhbl"}},
        Source{"self_play",
               true,
               {"domain.name=tic_tac_toe", "generate.target=self_play", "generate.simulations=6",
                "network.head=vp", "validation.every_updates=0"}},
        Source{"self_play_by_puct_with_replay",
               true,
               {"domain.name=connect_four", "generate.target=self_play",
                "generate.game_search=puct", "generate.simulations=5", "network.head=vp",
                "network.kind=resnet_2d", "network.norm=batch", "network.channels=4",
                "replay.updates=2", "validation.every_updates=0"}},
        Source{
            "hindsight",
            true,
            {"domain.name=grid", "domain.size=6", "generate.target=value_iteration",
             "generate.search=greedy", "generate.search_iterations=10", "generate.hindsight=true"}},
        Source{
            "greedy_with_ubsoln",
            true,
            {"generate.target=value_iteration", "generate.search=greedy",
             "generate.search_iterations=15", "generate.temperature=1", "generate.backup=ubsoln"}},
        Source{"curriculum",
               true,
               {"generate.target=value_iteration", "generate.search=astar",
                "generate.search_iterations=10", "generate.curriculum=true"}}),
    [](const auto& test) { return test.param.name; });

class InFolder : public testing::Test {
 protected:
  const TempFolder temp_;
  const fs::path folder_ = temp_.path() / "run";
};

TEST_F(InFolder, WritesEveryFileOfTheRun) {
  const RunSummary summary =
      RunToTheEnd({"generate.target=value_iteration"}, RunDirectory::Create(folder_));
  EXPECT_EQ(summary.end, RunEnd::kAllUpdates);
  EXPECT_EQ(summary.examples, 3000);

  const auto json = nlohmann::json::parse(ReadFile(folder_ / "summary.json"));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["examples"], 3000);
  EXPECT_EQ(json["weights_sha256"], summary.weights_sha256);
  EXPECT_GT(json["wall_s"], 0.0);
  EXPECT_GT(json["peak_rss_bytes"], 1 << 20);
  EXPECT_EQ(json["final_loss"], summary.final_loss);

  std::int64_t update = 0;
  for (const nlohmann::json& record : MetricsOf(folder_)) {
    EXPECT_EQ(record["update"], update);
    EXPECT_EQ(record["lag_updates"], update == 0 ? 0 : 1);
    EXPECT_GT(record["generate_s"], 0.0);
    EXPECT_GT(record["train_s"], 0.0);
    EXPECT_GE(record["update_s"], record["train_s"]);
    ++update;
  }
  EXPECT_EQ(update, 6);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 6);  // with events and the lock
}

TEST_F(InFolder, MetricsLinesAreShortAndFlat) {
  RunToTheEnd({"generate.target=value_iteration", "validation.every_updates=0"},
              RunDirectory::Create(folder_));
  std::ifstream metrics(folder_ / "metrics.jsonl");
  int lines = 0;
  for (std::string line; std::getline(metrics, line); ++lines) {
    EXPECT_LT(line.size(), 1350) << line;
    EXPECT_EQ(line.find('{', 1), std::string::npos) << line;
  }
  EXPECT_EQ(lines, 6);
}

TEST_F(InFolder, MetricsHaveTheRangeOfTheLabels) {
  RunToTheEnd({}, RunDirectory::Create(folder_));
  for (const nlohmann::json& record : MetricsOf(folder_)) {
    EXPECT_EQ(record["label_min"], 1);  // every prefix of walks of 8 steps
    EXPECT_EQ(record["label_max"], 8);
    EXPECT_NEAR(record["label_mean"], 4.5, 0.05);
  }
}

TEST_F(InFolder, EachRefreshAfterTheFirstStepMeasuresTheRoundingOfTheCopy) {
  const std::vector<std::string> settings = {"generate.target=value_iteration",
                                             "validation.every_updates=0"};
  const auto errors_of = [&](const std::string& precision) {
    std::vector<std::string> with_precision = settings;
    with_precision.push_back("inference.precision=" + precision);
    const fs::path folder = folder_.string() + precision;
    RunToTheEnd(with_precision, RunDirectory::Create(folder));
    std::vector<std::optional<double>> errors;
    for (const nlohmann::json& record : MetricsOf(folder)) {
      errors.push_back(record.contains("inference_error")
                           ? std::optional(record["inference_error"].get<double>())
                           : std::nullopt);
    }
    return errors;
  };
  const std::vector<std::optional<double>> of_bf16 = errors_of("bf16");
  ASSERT_EQ(of_bf16.size(), 6U);
  EXPECT_FALSE(of_bf16.front());
  ASSERT_TRUE(of_bf16.back());
  EXPECT_GT(*of_bf16.back(), 0);
  EXPECT_LT(*of_bf16.back(), 0.2);
  EXPECT_FALSE(errors_of("fp32").back());
}

TEST_F(InFolder, PolicyHasNoRangeOfLabels) {
  RunToTheEnd({"network.head=policy", "generate.target=policy"}, RunDirectory::Create(folder_));
  EXPECT_EQ(ReadFile(folder_ / "metrics.jsonl").find("label_m"), std::string::npos);
}

TEST_F(InFolder, LastMetricsLineHasTheLastValidation) {
  const RunSummary summary = RunToTheEnd({"validation.every_updates=4", "validation.states=20"},
                                         RunDirectory::Create(folder_));
  const std::vector<nlohmann::json> lines = MetricsOf(folder_);
  ASSERT_EQ(lines.size(), 6);
  EXPECT_EQ(lines[5]["update"], 5);
  EXPECT_EQ(lines[5]["solve_rate"], summary.validation->solve_rate);
  EXPECT_TRUE(lines[5].contains("walk_length_error"));
  EXPECT_TRUE(lines[3].contains("solve_rate"));
  EXPECT_FALSE(lines[4].contains("solve_rate"));
}

TEST_F(InFolder, ValidationThatIsRepeatedAfterAResumeIsThatOfItsUpdate) {
  const std::shared_ptr<Device> device = OpenDevice("cpu");
  const StopSignal never;
  const Config config = MakeConfig({"validation.every_updates=2", "validation.states=20"}, *device);
  const auto validated = [&] {
    std::vector<std::string> results;
    for (const nlohmann::json& line : MetricsOf(folder_)) {
      results.push_back(line.contains("solve_rate") ? line["solve_rate"].dump() : "none");
    }
    return results;
  };
  TrainToTheEnd(config, device, RunDirectory::Create(folder_));
  const std::vector<std::string> whole = validated();
  fs::remove_all(folder_);
  {
    TrainRun run(config,
                 {.device = device, .directory = RunDirectory::Create(folder_), .stop = never});
    StopAfter(run, 10);  // with the last iteration of the second update
    ToTheEnd(run);
  }
  EXPECT_EQ(validated(), (std::vector<std::string>{"none", "none"}));
  ResumeRun(folder_, device);
  EXPECT_EQ(validated(), whole);
}

TEST_F(InFolder, KeepsNetworksInTheOrderOfTheirUpdatesAndNothingElse) {
  const RunDirectory run = RunDirectory::Create(folder_);
  WriteFileAtomically(folder_ / "checkpoint-mine.safetensors", "x");
  RunToTheEnd({"checkpoint.keep_every=1", "train.max_updates=11"}, run);
  const std::vector<fs::path> kept = run.AllArchived();
  ASSERT_EQ(kept.size(), 11);
  EXPECT_EQ(kept[1], run.archived(2));
  EXPECT_EQ(kept[10], run.archived(11));
  EXPECT_EQ(Checkpoint(kept[1]).iterations(), 2 * Checkpoint(kept[0]).iterations());
  EXPECT_LT(fs::file_size(kept[10]), fs::file_size(run.checkpoint()) / 2);
  EXPECT_THROW(Checkpoint(kept[0]).Counters(), InputError);
}

TEST_F(InFolder, ResumeRemovesArchivedNetworksOfLaterUpdatesAndPartialFiles) {
  RunToTheEnd({"checkpoint.keep_every=2"}, RunDirectory::Create(folder_));
  for (const char* name : {"checkpoint-8.safetensors", "checkpoint-10.safetensors",
                           "checkpoint-4.safetensors.77.partial", "checkpoint-mine.safetensors"}) {
    WriteFileAtomically(folder_ / name, "x");
  }
  const RunDirectory run = RunDirectory::Reopen(folder_);
  EXPECT_FALSE(fs::exists(folder_ / "checkpoint-4.safetensors.77.partial"));
  run.GoBackTo(8, std::nullopt);
  EXPECT_EQ(run.AllArchived().back(), run.archived(8));
  run.GoBackTo(4, std::nullopt);
  EXPECT_EQ(run.AllArchived().size(), 2);
  EXPECT_TRUE(fs::exists(folder_ / "checkpoint-mine.safetensors"));
}

TEST_F(InFolder, InitialNetIsThatOfTheFirstCheckpoint) {
  const std::shared_ptr<Device> device = OpenDevice("cpu");
  const StopSignal stop;
  const RunDirectory run = RunDirectory::Create(folder_);
  const Config config = MakeConfig({"seed=5"}, *device);
  const TrainRun created(config, {.device = device, .directory = run, .stop = stop});
  const auto domain = MakeDomain(config.domain.full_name());
  const auto initial = MakeInitialNet(config, domain->spec());
  ResNetFC saved(NetworkFor(config.network, domain->spec()), /*seed=*/0);
  EXPECT_NE(WeightsSha256(initial->State()), WeightsSha256(saved.State()));
  Checkpoint(run.checkpoint()).LoadModel(saved, domain->spec().identity());
  EXPECT_EQ(WeightsSha256(initial->State()), WeightsSha256(saved.State()));
}

TEST_F(InFolder, CheckpointNamesTheKindOfItsNetwork) {
  const RunDirectory run = RunDirectory::Create(folder_);
  const std::vector<std::string> sets = {"domain.name=npuzzle", "domain.size=3",
                                         "network.kind=resnet_2d", "network.norm=none",
                                         "network.channels=4"};
  const RunSummary summary = RunToTheEnd(sets, run);
  const std::shared_ptr<Device> device = OpenDevice("cpu");
  const Config config = MakeConfig(sets, *device);
  const auto domain = MakeDomain(config.domain.full_name());
  const auto board = MakeNetwork(NetworkFor(config.network, domain->spec()), /*seed=*/0);
  Checkpoint(run.checkpoint()).LoadModel(*board, domain->spec().identity());
  EXPECT_EQ(WeightsSha256(board->State()), summary.weights_sha256);

  ResNetFC other(NetworkFor({}, domain->spec()), /*seed=*/0);
  const auto error = [&] {
    try {
      Checkpoint(run.checkpoint()).LoadModel(other, domain->spec().identity());
    } catch (const InputError& thrown) {
      return std::string(thrown.what());
    }
    return std::string();
  };
  EXPECT_NE(error().find("trained with `network.kind: resnet_2d`, expected resnet_fc"),
            std::string::npos);
}

TEST_F(InFolder, BadMetricsLineIsRemovedAlone) {
  const RunDirectory run = RunDirectory::Create(folder_);
  WriteFileAtomically(run.metrics(),
                      "{\"update\": 0}\n\1garbage\n{\"update\": 1}\n{\"update\": \"x\"}\n[]\n"
                      "{\"update\": 2}\n{\"update\": 3}\n{\"upd");
  testing::internal::CaptureStderr();
  run.GoBackTo(3, std::nullopt);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("metrics.jsonl:2: expected a JSON object"),
            std::string::npos);
  EXPECT_EQ(ReadFile(run.metrics()), "{\"update\": 0}\n{\"update\": 1}\n{\"update\": 2}\n");
}

TEST_F(InFolder, ChangedMetricsLineIsRemovedAlone) {
  const RunDirectory run = RunDirectory::Create(folder_);
  for (int update = 0; update < 3; ++update) run.AppendMetrics({{"update", update}, {"loss", 0.5}});
  const std::string lines = ReadFile(run.metrics());
  std::string changed = lines;
  changed[changed.find("0.5", changed.find('\n'))] = '1';
  WriteFileAtomically(run.metrics(), changed);
  testing::internal::CaptureStderr();
  run.GoBackTo(3, std::nullopt);
  EXPECT_NE(testing::internal::GetCapturedStderr().find(
                "metrics.jsonl:2: expected the line's hash to match; the line is removed"),
            std::string::npos);
  const std::size_t second = lines.find('\n') + 1;
  const std::size_t third = lines.find('\n', second) + 1;
  EXPECT_EQ(ReadFile(run.metrics()), lines.substr(0, second) + lines.substr(third));
}

TEST_F(InFolder, EntriesAreAddedToTheLastMetricsLineOnlyIfItIsWholeAndOfThatUpdate) {
  const RunDirectory run = RunDirectory::Create(folder_);
  for (int update = 0; update < 2; ++update) run.AppendMetrics({{"update", update}, {"loss", 0.5}});
  const std::string lines = ReadFile(run.metrics());
  const std::size_t second = lines.find('\n') + 1;

  run.AddToLastMetrics(1, {{"solve_rate", 0.25}});
  const std::string longer = WithHash({{"update", 1}, {"loss", 0.5}, {"solve_rate", 0.25}}) + "\n";
  EXPECT_EQ(ReadFile(run.metrics()), lines.substr(0, second) + longer);

  std::string changed = lines;
  changed[changed.find("0.5", second)] = '1';
  for (const auto& [text, update] : {std::pair{lines, 2}, {changed, 1}, {std::string(), 0}}) {
    WriteFileAtomically(run.metrics(), text);
    testing::internal::CaptureStderr();
    run.AddToLastMetrics(update, {{"solve_rate", 0.25}});
    EXPECT_NE(testing::internal::GetCapturedStderr().find("expected the last line to be that of"),
              std::string::npos);
    EXPECT_EQ(ReadFile(run.metrics()), text);
  }
}

TEST_F(InFolder, TakesOverTheClaimOfAKilledProgram) {
  fs::create_directories(folder_);
  WriteFileAtomically(folder_ / "config.yaml", "");
  WriteFileAtomically(folder_ / "checkpoint.safetensors.4711.partial", "torn");
  RunDirectory::Create(folder_);
  EXPECT_FALSE(fs::exists(folder_ / "checkpoint.safetensors.4711.partial"));
  WriteFileAtomically(folder_ / "config.yaml", "seed: 3\n");
  EXPECT_THROW(RunDirectory::Create(folder_), InputError);
}

TEST_F(InFolder, SavedConfigRepeatsTheRun) {
  const RunSummary first = RunToTheEnd({"seed=9"}, RunDirectory::Create(folder_));
  const Config saved = LoadConfig(folder_ / "config.yaml");
  EXPECT_EQ(TrainToTheEnd(saved, OpenDevice("cpu")).weights_sha256, first.weights_sha256);
}

TEST_F(InFolder, LostMetricsAreReported) {
  const auto warning_of = [&](const std::string& lines) {
    const TempFolder temp;
    const RunDirectory run = RunDirectory::Create(temp.path() / "run");
    if (!lines.empty()) WriteFileAtomically(run.metrics(), lines);
    testing::internal::CaptureStderr();
    run.GoBackTo(2, std::nullopt);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(warning_of(""), HasSubstr("metrics.jsonl: there is no line of an earlier update; "
                                        "expected lines from update 0 on."));
  EXPECT_THAT(warning_of("{\"update\": 1}\n"),
              HasSubstr("metrics.jsonl: the first line is that of update 1; expected lines"));
  EXPECT_EQ(warning_of("{\"update\": 0}\n{\"update\": 1}\n"), "");
}

TEST_F(InFolder, AModelIsEvaluatedInTheBatchesOfTheMachineThatSolves) {
  RunToTheEnd({"inference.batch_size=64"}, RunDirectory::Create(folder_));
  ModelArgs args{.runs = {folder_.string()}, .checkpoints = {"last"}, .overrides = {}};
  EXPECT_EQ(*LoadedModel{args}.config().inference.batch_size, 4096);
  args.overrides = {ParseOverride("inference.batch_size=128")};
  EXPECT_EQ(*LoadedModel{args}.config().inference.batch_size, 128);
}

TEST_F(InFolder, BestNetworkCanBeUsedWithoutTheCheckpoint) {
  RunToTheEnd({}, RunDirectory::Create(folder_));
  WriteFileAtomically(folder_ / "checkpoint.safetensors", "damaged");
  const ModelArgs last{.runs = {folder_.string()}, .checkpoints = {"last"}, .overrides = {}};
  const ModelArgs best{.runs = {folder_.string()}, .checkpoints = {"best"}, .overrides = {}};
  EXPECT_THAT([&] { LoadedModel{last}; },
              ThrowsMessage<InputError>(HasSubstr(". Use --checkpoint best, the network that")));
  fs::remove(folder_ / "checkpoint.safetensors");
  EXPECT_NO_THROW(LoadedModel{best});
  EXPECT_THAT(
      [&] { LoadedModel{last}; },
      ThrowsMessage<InputError>(HasSubstr("has no checkpoint.safetensors. Use --checkpoint best")));
  EXPECT_THAT([&] { RunDirectory::Reopen(folder_); },
              ThrowsMessage<InputError>(HasSubstr("has no checkpoint.safetensors")));
  fs::remove(folder_ / "best.safetensors");
  EXPECT_THAT([&] { RunDirectory::Open(folder_); },
              ThrowsMessage<InputError>(HasSubstr("is not the folder of a run")));
}

TEST_F(InFolder, InitialWeightsOfAnotherNetworkErrorNamesTheKeysThatDiffer) {
  RunToTheEnd({}, RunDirectory::Create(folder_));
  const std::shared_ptr<Device> device = OpenDevice("cpu");
  const Config trained = LoadConfig(folder_ / "config.yaml");
  const auto domain = MakeDomain(trained.domain.full_name());
  Config other = trained;
  other.network.width += 8;
  const std::string expected = fmt::format(
      "the network of the config differs from that of the checkpoint: network.width is "
      "{}, but {} in the checkpoint. Set",
      other.network.width, trained.network.width);
  for (const char* file : {"checkpoint.safetensors", "best.safetensors"}) {
    other.network.init_from = folder_ / file;
    EXPECT_THAT([&] { MakeInitialNet(other, domain->spec()); },
                ThrowsMessage<InputError>(HasSubstr(expected)));
  }
}

TEST_F(InFolder, RejectsAFolderThatIsNotEmpty) {
  fs::create_directories(folder_);
  WriteFileAtomically(folder_ / "precious.txt", "x");
  EXPECT_THROW(RunDirectory::Create(folder_), InputError);
  EXPECT_EQ(ReadFile(folder_ / "precious.txt"), "x");
  EXPECT_THROW(RunDirectory::Open(folder_), InputError);
}

TEST_F(InFolder, AbandonedRunLeavesTheFolderThatItFound) {
  fs::create_directories(folder_);
  RunDirectory::Create(folder_).Abandon();
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(InFolder, ClaimedFolderIsTakenUntilAbandoned) {
  const RunDirectory first = RunDirectory::Create(folder_);
  EXPECT_THROW(RunDirectory::Create(folder_), InputError);
  first.Abandon();
  EXPECT_FALSE(fs::exists(folder_));
  RunDirectory::Create(folder_);
}

TEST_F(InFolder, AbandonedFolderLosesWhatIsLeftOfAFirstCheckpoint) {
  const RunDirectory run = RunDirectory::Create(folder_);
  WriteFileAtomically(folder_ / "checkpoint.safetensors.4711.partial", "torn");
  run.Abandon();
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(InFolder, FolderWithACheckpointIsNotAbandoned) {
  const RunDirectory run = RunDirectory::Create(folder_);
  WriteFileAtomically(folder_ / "checkpoint.safetensors", "whole");
  run.Abandon();
  EXPECT_TRUE(fs::exists(folder_ / "checkpoint.safetensors"));
  EXPECT_TRUE(fs::exists(folder_ / "config.yaml"));
}

TEST_F(InFolder, AbandonedFolderOfARunWithAStreamCanBeUsedAgain) {
  const RunDirectory first = RunDirectory::Create(folder_);
  fs::create_directories(folder_ / "stream" / "used");
  fs::create_directories(folder_ / "published");
  first.Abandon();
  EXPECT_FALSE(fs::exists(folder_));
  // A program that was killed leaves them too.
  fs::create_directories(folder_ / "stream" / "used");
  WriteFileAtomically(folder_ / "config.yaml", "");
  RunDirectory::Create(folder_);
  EXPECT_FALSE(fs::exists(folder_ / "stream"));
}

TEST_F(InFolder, ReopenRemovesPartialFilesOfAKilledProgram) {
  RunToTheEnd({}, RunDirectory::Create(folder_));
  for (const char* left : {"checkpoint.safetensors.4711.partial", "best.safetensors.12.partial",
                           "replay-7.bin.4711.partial", "summary.json.1.partial"}) {
    WriteFileAtomically(folder_ / left, "torn");
  }
  for (const char* foreign : {"notes.txt.4711.partial", "checkpoint.safetensors.partial",
                              "replay-7.txt", "checkpoint.safetensors.mine.partial"}) {
    WriteFileAtomically(folder_ / foreign, "precious");
  }
  RunDirectory::Open(
      folder_);  // opening for reading keeps partial files, which a running program may be writing
  EXPECT_TRUE(fs::exists(folder_ / "checkpoint.safetensors.4711.partial"));
  RunDirectory::Reopen(folder_);
  std::set<std::string> left;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename();
    left.insert(name);
  }
  EXPECT_EQ(left,
            (std::set<std::string>{".lock", "best.safetensors", "checkpoint.safetensors",
                                   "checkpoint.safetensors.mine.partial",
                                   "checkpoint.safetensors.partial", "config.yaml", "metrics.jsonl",
                                   "notes.txt.4711.partial", "replay-7.txt", "summary.json"}));
}

TEST_F(InFolder, BestStaysUntilItsSuccessorIsWritten) {
  const RunDirectory directory = RunDirectory::Create(folder_);
  const fs::path aside = folder_ / "best-2.safetensors";
  WriteFileAtomically(directory.best(), "after update 2");
  directory.PreserveBest(2);
  EXPECT_EQ(ReadFile(directory.best()), "after update 2");
  EXPECT_EQ(ReadFile(aside), "after update 2");

  directory.GoBackTo(3, 2);  // as after a kill before the successor was written
  EXPECT_EQ(ReadFile(directory.best()), "after update 2");
  EXPECT_FALSE(fs::exists(aside));

  directory.PreserveBest(2);
  WriteFileAtomically(directory.best(), "after update 4");
  EXPECT_EQ(ReadFile(aside), "after update 2");
  directory.GoBackTo(3, 2);
  EXPECT_EQ(ReadFile(directory.best()), "after update 2");
  EXPECT_FALSE(fs::exists(aside));
}

TEST_F(InFolder, ModelEvaluatesLikeTheNetworkOfTheCheckpoint) {
  RunToTheEnd({}, RunDirectory::Create(folder_));
  const RunDirectory run = RunDirectory::Open(folder_);
  const Config config = LoadConfig(run.config());
  ModelArgs args{.runs = {folder_.string()}, .overrides = {ParseOverride("device=cpu")}};
  LoadedModel model(args);
  EXPECT_EQ(model.iterations(), 30);
  const DomainSpec& puzzle = model.domain().spec();
  std::vector<std::uint8_t> goal(54);
  model.domain().WriteGoals(Rows(std::span(goal)));
  const auto value_of = [&](Evaluator& net) {
    float value = NAN;
    net.Evaluate(ConstRows(Rows(std::span(goal))), {&value, 1});
    return value;
  };
  const NetworkSpec spec = NetworkFor(config.network, puzzle);
  ResNetFC saved(spec, /*seed=*/0);
  Checkpoint(run.checkpoint()).LoadModel(saved, puzzle.identity());
  const std::unique_ptr<Device> device = OpenDevice("cpu");
  InferenceNet copy(spec, WithBackends(config, *device).inference, *device);
  copy.Load(saved);
  EXPECT_EQ(value_of(model.net()), value_of(copy));
  copy.Load(*MakeInitialNet(config, puzzle));
  EXPECT_NE(value_of(model.net()), value_of(copy));

  args.overrides.push_back(ParseOverride("network.width=33"));
  EXPECT_THROW(LoadedModel{args}, InputError);
}

TEST_F(InFolder, StopSavesTheTrainedWeights) {
  const std::shared_ptr<Device> device = OpenDevice("cpu");
  const StopSignal never;
  TrainRun run(MakeConfig({"train.max_updates=1000"}, *device),
               {.device = device, .directory = RunDirectory::Create(folder_), .stop = never});
  EXPECT_TRUE(run.RunUpdate());
  run.RequestStop();
  EXPECT_FALSE(run.RunUpdate());
  EXPECT_FALSE(run.RunUpdate());
  EXPECT_EQ(run.Finish().end, RunEnd::kStopped);
  EXPECT_TRUE(fs::exists(folder_ / "checkpoint.safetensors"));
  EXPECT_EQ(nlohmann::json::parse(ReadFile(folder_ / "summary.json"))["ended_by"], "stopped");
}

TEST_F(InFolder, FailedValidationLosesNoTraining) {
  const std::shared_ptr<Device> device = OpenDevice("cpu");
  const StopSignal never;
  // In the first case the validation follows update 0, which is then repeated. In the second case
  // all updates are done.
  const std::int64_t all = *MakeConfig({}, *device).train.max_updates;
  for (const auto& [every, kept] : {std::pair{"validation.every_updates=1", std::int64_t{0}},
                                    {"validation.every_updates=100", all}}) {
    const RunDirectory directory = RunDirectory::Create(folder_);
    fs::create_directories(directory.best() / "in the way");
    TrainRun run(MakeConfig({every}, *device),
                 {.device = device, .directory = directory, .stop = never});
    EXPECT_THROW(ToTheEnd(run), Error);
    EXPECT_EQ(Checkpoint(directory.checkpoint()).Counters().updates, kept) << every;
    const auto has_failed = ThrowsMessage<Error>(HasSubstr("the run has failed"));
    EXPECT_THAT([&] { run.RunUpdate(); }, has_failed);
    EXPECT_THAT([&] { run.Finish(); }, has_failed);
    fs::remove_all(folder_);
  }
}

TEST_F(InFolder, RunWhoseGeneratorsCannotBeToldItsEndHasASummary) {
  const std::shared_ptr<Device> device = OpenDevice("cpu");
  const StopSignal stop;
  const Config config = MakeConfig({"data.source=stream", "data.live_share=0.5",
                                    "generate.target=value_iteration", "train.max_updates=2"},
                                   *device);
  TrainRun run(config,
               {.device = device, .directory = RunDirectory::Create(folder_), .stop = stop});
  while (run.RunUpdate()) {
  }
  fs::rename(folder_ / "published", folder_ / "elsewhere");
  EXPECT_THROW(run.Finish(), Error);
  EXPECT_TRUE(fs::exists(folder_ / "summary.json"));
}

TEST_F(InFolder, OnlyPublishedFilesAreRemovedAndAFailureDoesNotEndTheRun) {
  const std::shared_ptr<Device> device = OpenDevice("cpu");
  const StopSignal stop;
  const Config config = MakeConfig({"data.source=stream", "data.live_share=0.5",
                                    "generate.target=value_iteration", "train.max_updates=2"},
                                   *device);
  const RunDirectory directory = RunDirectory::Create(folder_);
  const fs::path published = folder_ / "published";
  const fs::path in_the_way = published / "weights-100.safetensors";
  fs::create_directories(in_the_way / "a file");
  const std::vector<std::string> own = {"weights-99.safetensors",
                                        "weights-98.safetensors.4711.partial",
                                        "manifest.json.4711.partial"};
  const std::vector<std::string> foreign = {"notes.txt", "weights-old.safetensors",
                                            "weights-99.safetensors.bak", "x.4711.partial"};
  for (const std::string& name : own) WriteFileAtomically(published / name, "left");
  for (const std::string& name : foreign) WriteFileAtomically(published / name, "precious");
  testing::internal::CaptureStderr();
  TrainRun run(config, {.device = device, .directory = directory, .stop = stop});
  ToTheEnd(run);
  const std::string messages = testing::internal::GetCapturedStderr();
  for (const std::string& name : own) EXPECT_FALSE(fs::exists(published / name)) << name;
  for (const std::string& name : foreign) EXPECT_TRUE(fs::exists(published / name)) << name;
  EXPECT_NE(messages.find("cannot remove " + in_the_way.string()), std::string::npos) << messages;
}

TEST_F(InFolder, StopInTheLastValidationLeavesAFinishedRun) {
  const std::shared_ptr<Device> device = OpenDevice("cpu");
  const StopSignal never;
  const Config config = MakeConfig({}, *device);
  TrainRun run(config,
               {.device = device, .directory = RunDirectory::Create(folder_), .stop = never});
  while (run.RunUpdate()) {
  }
  run.RequestStop();
  testing::internal::CaptureStderr();
  const RunSummary summary = run.Finish();
  EXPECT_NE(testing::internal::GetCapturedStderr().find("the last validation was stopped"),
            std::string::npos);
  EXPECT_EQ(summary.end, RunEnd::kAllUpdates);
  EXPECT_FALSE(summary.validation);
  EXPECT_EQ(Checkpoint(folder_ / "checkpoint.safetensors").Counters().updates,
            *config.train.max_updates);
}

TEST(TrainRun, IncompleteUpdateIsNotCounted) {
  const std::shared_ptr<Device> device = OpenDevice("cpu");
  const StopSignal never;
  TrainRun run(MakeConfig({}, *device), {.device = device, .stop = never});
  StopAfter(run, 13);
  const RunSummary summary = ToTheEnd(run);
  EXPECT_EQ(summary.end, RunEnd::kStopped);
  EXPECT_EQ(summary.updates, 2);
  EXPECT_EQ(summary.iterations, 13);
}

TEST(TrainRun, RunThatTrainedNothingIsNotValidated) {
  const RunSummary summary =
      RunToTheEnd({"train.max_seconds=0.000001", "validation.every_updates=1"});
  EXPECT_EQ(summary.iterations, 0);
  EXPECT_FALSE(summary.validation);
}

TEST(TrainRun, TimeLimitEndsTheRun) {
  const RunSummary summary = RunToTheEnd({"train.max_updates=100000000", "train.max_seconds=0.5"});
  EXPECT_EQ(summary.end, RunEnd::kTimeLimit);
}

class Calibrate : public testing::Test {
 protected:
  Config Resolve(std::vector<std::string> sets, const StopSignal& stop) {
    sets.push_back("train.max_updates=auto");
    return ResolveMaxUpdates(MakeConfig(sets, *device_), {.device = device_, .stop = stop});
  }

  const std::shared_ptr<Device> device_ = OpenDevice("cpu");
  StopSignal stop_;
};

TEST_F(Calibrate, KeepsAConfigThatSetsMaxUpdates) {
  EXPECT_EQ(ResolveMaxUpdates(MakeConfig({}, *device_), {.device = device_, .stop = stop_})
                .train.max_updates,
            6);
}

TEST(IterationsPerUpdate, AreFewerIfTooFewUpdatesWouldFit) {
  const auto device = OpenDevice("cpu");
  const Config config = MakeConfig({"train.iterations_per_update=100"}, *device);
  EXPECT_EQ(IterationsPerUpdate(config, 1e6), 100);
  EXPECT_EQ(IterationsPerUpdate(config, 200), 5);  // 2 updates of 100
  EXPECT_EQ(IterationsPerUpdate(config, 3), 1);
  const Config searches = MakeConfig(
      {"train.iterations_per_update=100", "train.batch_size=20", "generate.target=value_iteration",
       "generate.search=greedy", "generate.search_iterations=50"},
      *device);
  EXPECT_EQ(IterationsPerUpdate(searches, 3), 3);  // a search ends within a buffer
  const Config walks = MakeConfig(
      {"train.iterations_per_update=100", "train.batch_size=20", "generate.max_scramble=50"},
      *device);
  EXPECT_EQ(IterationsPerUpdate(walks, 3), 3);  // and so does a walk
}

TEST_F(Calibrate, MakesTheRunFollowTheClock) {
  const Config config = Resolve({"train.max_seconds=2"}, stop_);
  EXPECT_TRUE(config.train.follows_clock);
  EXPECT_EQ(config.train.plan, fmt::format("0:{}", *config.train.max_updates));
}

TEST_F(InFolder, RunThatFollowsTheClockSavesEachRevisionOfItsPlan) {
  const std::shared_ptr<Device> device = OpenDevice("cpu");
  constexpr std::int64_t kTooMany = 100'000'000;
  Config config =
      MakeConfig({"train.max_seconds=3", "optimizer.schedule=linear", "train.threads=1"}, *device);
  config.train.max_updates = kTooMany;
  config.train.follows_clock = true;
  const RunSummary summary = TrainToTheEnd(config, device, RunDirectory::Create(folder_));
  const Config saved = LoadConfig(folder_ / "config.yaml");
  const UpdatePlan plan(saved.train);
  EXPECT_EQ(plan.revisions().front().updates, kTooMany);
  EXPECT_GE(plan.revisions().size(), 2U);
  EXPECT_GE(plan.updates(), summary.updates);  // more if the time ran out in the last update
  EXPECT_EQ(saved.train.max_updates, plan.updates());
}

// From update 2 on, the learning rate falls faster than in a run that always planned 6 updates.
TEST_F(InFolder, SavedConfigRepeatsARunThatRevisedItsPlan) {
  const std::shared_ptr<Device> device = OpenDevice("cpu");
  Config config = MakeConfig({"optimizer.schedule=linear"}, *device);
  ASSERT_EQ(config.train.max_updates, 6);
  const RunSummary without_plan = TrainToTheEnd(config, device);
  config.train.plan = "0:9 2:6";
  const RunSummary first = TrainToTheEnd(config, device, RunDirectory::Create(folder_));
  EXPECT_NE(first.weights_sha256, without_plan.weights_sha256);
  EXPECT_NEAR(MetricsOf(folder_).back()["learning_rate"], config.optimizer.final_learning_rate,
              1e-9);
  const Config saved = LoadConfig(folder_ / "config.yaml");
  EXPECT_EQ(saved.train.plan, "0:9 2:6");
  EXPECT_EQ(TrainToTheEnd(saved, device).weights_sha256, first.weights_sha256);
}

// The repetition may be slower than the run was.
TEST_F(InFolder, SavedConfigRepeatsATimedRunWithoutItsTimeLimit) {
  const std::shared_ptr<Device> device = OpenDevice("cpu");
  Config config = MakeConfig({"train.max_seconds=1000", "optimizer.schedule=linear"}, *device);
  config.train.follows_clock = true;
  UpdatePlan(6).WriteTo(config.train);
  config.train.follows_clock = false;  // a run whose plan is not revised, as its repetition
  const RunSummary first = TrainToTheEnd(config, device, RunDirectory::Create(folder_));
  Config saved = LoadConfig(folder_ / "config.yaml");
  EXPECT_EQ(saved.train.max_seconds, 1000);
  saved.train.max_seconds = 1e-6;
  const RunSummary repeated = TrainToTheEnd(saved, device);
  EXPECT_EQ(repeated.end, RunEnd::kAllUpdates);
  EXPECT_EQ(repeated.weights_sha256, first.weights_sha256);
}

// The rates of two measurements may differ by several times on a machine that is busy.
TEST_F(Calibrate, PlansMoreIterationsForMoreTime) {
  const auto iterations = [&](const std::string& seconds) {
    const TrainingConfig train = Resolve({"train.max_seconds=" + seconds}, stop_).train;
    return *train.max_updates * train.iterations_per_update;
  };
  EXPECT_GT(iterations("200"), 5 * iterations("1"));
}

TEST_F(Calibrate, PlanWithoutAMeasurementIsLongEnoughToBeRevised) {
  testing::internal::CaptureStderr();
  const Config config = Resolve({"train.max_seconds=1e-9"}, stop_);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("no iteration ended within"),
            std::string::npos);
  EXPECT_TRUE(config.train.follows_clock);
  const UpdatePlan plan(config.train);
  UpdatePacer pacer;
  bool is_revised = false;
  for (std::int64_t update = 0; update < plan.updates(); ++update) {
    pacer.Begins(update, static_cast<double>(update));
    is_revised = is_revised || pacer.Revised(plan, 3600).updates() > plan.updates();
  }
  EXPECT_TRUE(is_revised);
}

// A device with which setting up takes longer than measuring may take in a run of 24 s.
class SlowToSetUp final : public RecordingDevice {
 public:
  std::unique_ptr<Stream> MainStream() override {
    TakeTime(std::chrono::milliseconds(3000));
    return RecordingDevice::MainStream();
  }
};

TEST(ResolveMaxUpdates, TimeOfSettingUpIsNotThatOfTheMeasurement) {
  const auto device = std::make_shared<SlowToSetUp>();
  const Config config = MakeConfig({"train.max_updates=auto", "train.max_seconds=24"}, *device);
  const StopSignal never;
  testing::internal::CaptureStderr();
  const Config resolved = ResolveMaxUpdates(config, {.device = device, .stop = never});
  EXPECT_EQ(testing::internal::GetCapturedStderr().find("no iteration ended within"),
            std::string::npos);
  EXPECT_GT(resolved.train.max_updates, 1);
}

// A puzzle that is as slow as one in Python: it takes a millisecond for each action.
class SlowPath final : public PathDomain {
 public:
  SlowPath() : PathDomain(/*cells=*/20, "slow_path") {}

  void Apply(Rows states, std::span<const Action> actions) const override {
    TakeTime(std::chrono::milliseconds(actions.size()));
    PathDomain::Apply(states, actions);
  }
};

TEST_F(Calibrate, TimeOfMeasuringIsLimitedWithASlowPuzzle) {
  RegisterDomain("slow_path", [] { return std::make_unique<SlowPath>(); });
  const Stopwatch watch;
  testing::internal::CaptureStderr();
  const Config config =
      Resolve({"domain.name=slow_path", "train.max_seconds=4", "train.batch_size=20000",
               "generate.chunk_rows=40000", "generate.workers=1"},
              stop_);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("no iteration ended within"),
            std::string::npos);
  EXPECT_LT(watch.Seconds(), 40);  // a chunk of 40,000 rows takes more than that
  EXPECT_TRUE(config.train.follows_clock);
}

TEST_F(Calibrate, StopsOnRequest) {
  stop_.Request();
  EXPECT_THROW(Resolve({"train.max_seconds=4"}, stop_), Stopped);
}

// A device without fast products in bf16.
TEST(ResolveAutos, ChoosesBf16WhereNoHiddenLayerIsMultiplied) {
  const RecordingDevice device;
  const auto resolved = [&](const std::string& blocks) {
    return MakeConfig({"backend=cpu", "network.blocks=" + blocks}, device);
  };
  EXPECT_EQ(resolved("0").train.precision, Precision::kBf16);
  EXPECT_EQ(resolved("0").inference.precision, Precision::kBf16);
  EXPECT_EQ(resolved("1").train.precision, Precision::kFp32);
  EXPECT_EQ(resolved("1").inference.precision, Precision::kFp32);
  const Config operators = MakeConfig({"network.blocks=0", "backend=reference"}, device);
  EXPECT_EQ(operators.train.precision, Precision::kFp32);
  EXPECT_EQ(operators.inference.precision, Precision::kFp32);
}

// A device that could be a GPU with Tandem's passes.
class LooksLikeAGpu final : public RecordingDevice {
 public:
  c10::Device torch() const override { return {c10::kCUDA, 0}; }
  const PassRunner* passes() const override { return cpu_->passes(); }

 private:
  const std::unique_ptr<Device> cpu_ = OpenDevice("cpu");
};

TEST(ResolveAutos, CapturesStepsUnlessTheyAreTimedOrBatchesOfAStreamDifferInSize) {
  const LooksLikeAGpu gpu;
  const auto may_capture = [&](std::vector<std::string> sets) {
    sets.insert(sets.end(), {"backend=auto", "generate.target=value_iteration"});
    const Config config = MakeConfig(sets, gpu);
    EXPECT_EQ(config.backend, BackendKind::kGpu);
    return config.train.may_capture;
  };
  EXPECT_TRUE(may_capture({}));
  EXPECT_TRUE(may_capture({"data.source=shards", "data.path=set", "data.live_share=0.5"}));
  EXPECT_TRUE(may_capture({"data.source=stream"}));
  EXPECT_FALSE(may_capture({"data.source=stream", "data.live_share=0.5"}));
  EXPECT_FALSE(may_capture({"profile.timing_breakdown=true"}));
}

TEST(ResolveAutos, ChunksOfTensorProgramsAreLarger) {
  const auto chunks = [](const std::string& yaml) {
    return *ResolveAutos(ParseConfig(yaml, "my.yaml"), *OpenDevice("cpu")).generate.chunk_rows;
  };
  EXPECT_EQ(chunks("generate: {program: domain}\n"), 4096);
  EXPECT_EQ(chunks("generate: {program: tensor}\n"), 65'536);
  EXPECT_EQ(chunks("generate: {program: tensor, chunk_rows: 9}\n"), 9);
}

TEST(ResolveAutos, MlpIsComputedByTheFastBackendOfResNetFc) {
  const LooksLikeAGpu gpu;
  const Config config = MakeConfig({"network.kind=mlp", "backend=auto"}, gpu);
  EXPECT_EQ(config.train.backend, BackendKind::kGpu);
  EXPECT_EQ(config.inference.backend, BackendKind::kGpu);
}

// In bf16, the tiles of backend cpu need an even width.
TEST(ResolveAutos, BackendStaysAutoIfTrainingAndInferenceDiffer) {
  const Config config = MakeConfig({"network.width=33", "backend=auto", "train.precision=bf16",
                                    "inference.precision=fp32", "network.blocks=0"},
                                   *OpenDevice("cpu"));
  EXPECT_EQ(config.train.backend, BackendKind::kReference);
  EXPECT_EQ(config.inference.backend, BackendKind::kCpu);
  EXPECT_EQ(config.backend, BackendKind::kAuto);
}

}  // namespace
}  // namespace tandem
