// Tests that runs which are stopped, are killed or fail can be resumed.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>
#include <span>

#include "base/file.h"
#include "base/hash.h"
#include "base/safetensors.h"
#include "config/load.h"
#include "nn/device.h"
#include "nn/resnet_fc.h"
#include "nn/tensor_file.h"
#include "support/counting_network.h"
#include "support/small_run.h"
#include "support/temp_folder.h"
#include "tandem/error.h"
#include "tandem/registry.h"
#include "train/checkpoint.h"
#include "train/loaded_model.h"
#include "train/run_directory.h"
#include "train/train_run.h"

namespace {

std::mutex g_synced_mutex;
std::vector<std::string> g_synced;  // names of the files that were synced, in order

}  // namespace

// Replaces the C library's fsync, to record which files are synced and in which order.
extern "C" int fsync(int descriptor) {
  std::error_code unknown;
  const auto file =
      std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor), unknown);
  {
    const std::lock_guard lock(g_synced_mutex);
    g_synced.push_back(file.filename().string());
  }
  return static_cast<int>(syscall(SYS_fsync, descriptor));
}

namespace tandem {
namespace {

namespace fs = std::filesystem;

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr const char* kInterrupted =
    "network: {width: 32, blocks: 1, norm: batch}\n"
    "generate: {max_scramble: 8, chunk_rows: 150}\n"
    "optimizer: {schedule: linear, warmup_iterations: 4}\n"
    "train: {batch_size: 60, iterations_per_update: 5, max_updates: 7, threads: 1}\n"
    "inference: {threads: 1}\n"
    "validation: {every_updates: 2, states: 16}\n"
    "checkpoint: {every_updates: 3}\n";

class Resume : public testing::TestWithParam<std::vector<std::string>> {
 protected:
  Config MakeConfig() const { return ConfigWith(kInterrupted, GetParam(), *device_); }

  // Runs to the end, and calls `act` after `iterations` iterations, when the last checkpoint that
  // was due is complete. Throws what `act` throws.
  RunSummary RunInterrupted(std::int64_t iterations, const std::function<void(TrainRun&)>& act) {
    TrainRun run(MakeConfig(),
                 {.device = device_, .directory = RunDirectory::Create(folder_), .stop = never_});
    run.ObserveIterations([&](const TrainingProgress& progress) {
      if (progress.iterations == iterations) act(run);
    });
    return ToTheEndWithEachCheckpoint(run);
  }

  RunSummary GoOn() const { return ResumeRun(folder_, device_); }

  void ExpectTheSame(const RunSummary& resumed) const {
    const RunSummary whole = TrainToTheEnd(MakeConfig(), device_);
    EXPECT_EQ(resumed.weights_sha256, whole.weights_sha256);
    EXPECT_EQ(resumed.updates, 7);
    EXPECT_EQ(resumed.iterations, 35);
    EXPECT_EQ(resumed.examples, 35 * 60);
    EXPECT_EQ(resumed.final_loss, whole.final_loss);
    ASSERT_TRUE(resumed.best.has_value());
    EXPECT_EQ(resumed.best->solve_rate, whole.best->solve_rate);
    EXPECT_EQ(resumed.best->value_error, whole.best->value_error);
    EXPECT_EQ(resumed.best_update, whole.best_update);

    std::int64_t update = 0;
    for (const nlohmann::json& line : MetricsOf(folder_)) {
      EXPECT_EQ(line["update"], update++);
      EXPECT_EQ(line["iterations"], 5);
    }
    EXPECT_EQ(update, 7);
  }

  const TempFolder temp_;
  const fs::path folder_ = temp_.path() / "run";
  const std::shared_ptr<Device> device_ = OpenDevice("cpu");
  const StopSignal never_;
};

TEST_P(Resume, ResumeAfterStopGivesSameWeights) {
  for (const std::int64_t at : {1, 13, 15, 30, 34}) {  // in and between updates
    fs::remove_all(folder_);
    const RunSummary stopped = RunInterrupted(at, [](TrainRun& run) { run.RequestStop(); });
    EXPECT_EQ(stopped.end, RunEnd::kStopped);
    EXPECT_EQ(stopped.iterations, at);
    const RunSummary resumed = GoOn();
    ExpectTheSame(resumed);
  }
}

TEST_P(Resume, ResumeAfterFailureGivesSameWeights) {
  EXPECT_THROW(RunInterrupted(13, [](TrainRun&) { throw Error("out of luck"); }), Error);
  EXPECT_EQ(Checkpoint(folder_ / "checkpoint.safetensors").Counters().updates, 2);
  ExpectTheSame(GoOn());
}

TEST_P(Resume, ResumeAfterKillGivesSameWeights) {
  const fs::path copy = temp_.path() / "copy";  // the folder as a kill would leave it
  RunInterrupted(22, [&](TrainRun&) { fs::copy(folder_, copy, fs::copy_options::recursive); });
  fs::remove_all(folder_);
  fs::rename(copy, folder_);
  EXPECT_EQ(Checkpoint(folder_ / "checkpoint.safetensors").Counters().updates, 3);
  ExpectTheSame(GoOn());
}

TEST_P(Resume, ResumeAfterKillInFirstUpdateGivesSameWeights) {
  const fs::path copy = temp_.path() / "copy";
  RunInterrupted(1, [&](TrainRun&) { fs::copy(folder_, copy, fs::copy_options::recursive); });
  fs::remove_all(folder_);
  fs::rename(copy, folder_);
  EXPECT_EQ(Checkpoint(folder_ / "checkpoint.safetensors").Counters().updates, 0);
  ExpectTheSame(GoOn());
}

TEST_P(Resume, ResumeAfterKillBeforeSummaryFinishesTheRun) {
  RunInterrupted(-1, [](TrainRun&) {});
  fs::remove(folder_ / "summary.json");
  ExpectTheSame(GoOn());
  EXPECT_EQ(nlohmann::json::parse(ReadFile(folder_ / "summary.json"))["updates"], 7);
}

INSTANTIATE_TEST_SUITE_P(
    All, Resume,
    testing::Values(
        std::vector<std::string>{"generate.target=walk_length"},
        std::vector<std::string>{"generate.target=walk_length", "network.head=q"},
        std::vector<std::string>{"generate.target=policy", "network.head=policy"},
        std::vector<std::string>{"generate.target=walk_length", "network.kind=counting_of_test",
                                 "train.ema_decay=0.9", "train.precision=fp32",
                                 "inference.precision=fp32"},
        std::vector<std::string>{"generate.target=value_iteration"},
        std::vector<std::string>{"generate.target=value_iteration", "inference.precision=bf16"},
        std::vector<std::string>{"generate.target=value_iteration", "pipeline.mode=sequential"},
        std::vector<std::string>{"generate.target=value_iteration", "pipeline.mode=sequential",
                                 "pipeline.policy_lag=1"},
        std::vector<std::string>{"generate.target=value_iteration", "pipeline.loss_thresh=0.3",
                                 "network.head=q"},
        std::vector<std::string>{"generate.target=value_iteration", "generate.search=greedy",
                                 "generate.search_iterations=20", "replay.updates=2"},
        std::vector<std::string>{"generate.target=value_iteration", "generate.search=greedy",
                                 "generate.search_iterations=10", "generate.curriculum=true"},
        std::vector<std::string>{"optimizer.schedule=linear", "train.ema_decay=0.9"},
        std::vector<std::string>{"network.norm=rms", "network.activation=leaky_relu",
                                 "optimizer.schedule=exponential"},
        std::vector<std::string>{"generate.target=value_iteration", "train.ema_decay=0.9"},
        std::vector<std::string>{"generate.target=value_iteration", "backend=reference"},
        std::vector<std::string>{"network.norm=layer", "train.ema_decay=0.9"},
        std::vector<std::string>{"network.norm=rms", "train.precision=fp32"},
        std::vector<std::string>{"generate.target=value_iteration", "domain.name=npuzzle",
                                 "domain.size=3", "network.kind=resnet_2d", "network.channels=4",
                                 "train.ema_decay=0.9"},
        std::vector<std::string>{"generate.target=value_iteration", "network.kind=mlp",
                                 "network.norm=layer", "train.ema_decay=0.9"},
        std::vector<std::string>{"backend=gpu", "train.precision=bf16", "train.ema_decay=0.9"},
        std::vector<std::string>{"generate.target=value_iteration", "network.norm=layer",
                                 "backend=gpu"}));

class SelfPlay : public Resume {};

TEST_P(SelfPlay, ResumeAfterStopGivesSameWeights) {
  const std::string whole = TrainToTheEnd(MakeConfig(), device_).weights_sha256;
  for (const std::int64_t at : {1, 13, 30}) {
    fs::remove_all(folder_);
    RunInterrupted(at, [](TrainRun& run) { run.RequestStop(); });
    EXPECT_EQ(GoOn().weights_sha256, whole);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Each, SelfPlay,
    testing::Values(std::vector<std::string>{"domain.name=connect_four",
                                             "generate.target=self_play", "network.head=vp",
                                             "generate.simulations=4",
                                             "validation.every_updates=0"},
                    std::vector<std::string>{"domain.name=othello", "domain.size=6",
                                             "generate.target=self_play", "network.head=vp",
                                             "generate.game_search=puct", "generate.simulations=4",
                                             "replay.updates=2", "validation.every_updates=0"}));

class WithTargetNetwork : public Resume {};

// As a run does that moves to a machine without a GPU, or to one with a GPU.
TEST_P(WithTargetNetwork, ResumeMayUseAnotherBackend) {
  RunInterrupted(13, [](TrainRun& run) { run.RequestStop(); });
  const RunDirectory directory = RunDirectory::Reopen(folder_);
  const Checkpoint checkpoint(directory.checkpoint());
  Config config = LoadConfig(directory.config());
  const bool is_gpu = config.backend == BackendKind::kGpu;
  config.backend = is_gpu ? BackendKind::kReference : BackendKind::kGpu;
  TrainRun run(config,
               {.device = device_, .directory = directory, .stop = never_, .from = &checkpoint});
  const RunSummary resumed = ToTheEnd(run);
  EXPECT_EQ(resumed.updates, 7);
  const double whole = TrainToTheEnd(MakeConfig(), device_).final_loss;
  EXPECT_NEAR(resumed.final_loss, whole, 0.05 * whole);  // the two differ by rounding
}

// The tensors of backend gpu are padded: the puzzle has 81 features.
INSTANTIATE_TEST_SUITE_P(
    Each, WithTargetNetwork,
    testing::Values(std::vector<std::string>{"generate.target=value_iteration",
                                             "domain.name=npuzzle", "domain.size=3",
                                             "train.precision=fp32", "inference.precision=fp32",
                                             "backend=gpu"},
                    std::vector<std::string>{
                        "generate.target=value_iteration", "domain.name=npuzzle", "domain.size=3",
                        "train.precision=fp32", "inference.precision=fp32", "backend=reference"}));

class ResumedInFolder : public Resume {};

TEST_P(ResumedInFolder, ResumeRemovesTheOldSummary) {
  RunInterrupted(13, [](TrainRun& run) { run.RequestStop(); });
  EXPECT_TRUE(fs::exists(folder_ / "summary.json"));
  const RunDirectory directory = RunDirectory::Reopen(folder_);
  const Checkpoint checkpoint(directory.checkpoint());
  const TrainRun run(
      LoadConfig(directory.config()),
      {.device = device_, .directory = directory, .stop = never_, .from = &checkpoint});
  EXPECT_FALSE(fs::exists(folder_ / "summary.json"));
}

class OftenSaved : public Resume {};

TEST_P(OftenSaved, CheckpointFollowsALongUpdate) {
  RunInterrupted(12, [&](TrainRun& run) {
    EXPECT_EQ(Checkpoint(folder_ / "checkpoint.safetensors").Counters().updates, 2);
    run.RequestStop();
  });
}

TEST_P(OftenSaved, MetricsAreSyncedBeforeTheCheckpoint) {
  {
    const std::lock_guard lock(g_synced_mutex);
    g_synced.clear();
  }
  RunInterrupted(-1, [](TrainRun&) {});
  const std::lock_guard lock(g_synced_mutex);
  std::vector<std::string> of_both;
  for (const std::string& name : g_synced) {
    if (name == "metrics.jsonl") of_both.push_back(name);
    if (name.starts_with("checkpoint.safetensors")) of_both.emplace_back("checkpoint.safetensors");
  }
  std::vector<std::string> expected = {"checkpoint.safetensors"};  // before the first update
  for (int update = 0; update < 7; ++update) {
    expected.insert(expected.end(), {"metrics.jsonl", "checkpoint.safetensors"});
  }
  EXPECT_EQ(of_both, expected);
}

INSTANTIATE_TEST_SUITE_P(One, OftenSaved,
                         testing::Values(std::vector<std::string>{
                             "checkpoint.every_seconds=1e-9", "checkpoint.every_updates=1000"}));

class BestNetwork : public Resume {};

TEST_P(BestNetwork, ResumeRestoresTheBestNetworkOfTheCheckpoint) {
  const fs::path copy = temp_.path() / "copy";
  RunInterrupted(22, [&](TrainRun&) { fs::copy(folder_, copy, fs::copy_options::recursive); });
  EXPECT_FALSE(fs::exists(folder_ / "best-2.safetensors"));
  const RunDirectory directory = RunDirectory::Reopen(copy);
  const Checkpoint checkpoint(directory.checkpoint());
  EXPECT_EQ(checkpoint.Counters().updates, 3);
  EXPECT_EQ(checkpoint.Counters().best_update, 2);
  EXPECT_EQ(Checkpoint(directory.best()).iterations(), 20);
  const TrainRun run(
      LoadConfig(directory.config()),
      {.device = device_, .directory = directory, .stop = never_, .from = &checkpoint});
  EXPECT_EQ(Checkpoint(directory.best()).iterations(), 10);
  EXPECT_FALSE(fs::exists(copy / "best-2.safetensors"));
}

INSTANTIATE_TEST_SUITE_P(One, BestNetwork,
                         testing::Values(std::vector<std::string>{"optimizer.learning_rate=0.003",
                                                                  "optimizer.schedule=constant"}));

class WithReplay : public Resume {};

TEST_P(WithReplay, KeepsOnlyTheReplayFileOfTheLastCheckpoint) {
  RunInterrupted(13, [](TrainRun& run) { run.RequestStop(); });
  EXPECT_TRUE(fs::exists(folder_ / "replay-2.bin"));
  EXPECT_EQ(std::ranges::count_if(fs::directory_iterator(folder_),
                                  [](const auto& entry) {
                                    return entry.path().filename().string().starts_with("replay");
                                  }),
            1);
  fs::remove(folder_ / "replay-2.bin");
  EXPECT_THROW(GoOn(), InputError);
}

// A file whose hash is right may still hold labels that no run writes.
TEST_P(WithReplay, RefusesLabelsThatAreNotCosts) {
  RunInterrupted(13, [](TrainRun& run) { run.RequestStop(); });
  const fs::path file = folder_ / "replay-2.bin";
  const std::string stored = ReadFile(file);
  for (const float wrong : {-1.0F, std::numeric_limits<float>::quiet_NaN()}) {
    std::string damaged = stored.substr(0, stored.size() - kHashDigits);
    std::memcpy(damaged.data() + damaged.size() - sizeof(float), &wrong, sizeof(float));
    WriteFileAtomically(file, damaged + HashOf(damaged));
    EXPECT_THAT([this] { GoOn(); },
                ThrowsMessage<Error>(AllOf(HasSubstr(file.string()), HasSubstr("target 0 of row "),
                                           HasSubstr(fmt::format(" is {}", wrong)))));
  }
}

INSTANTIATE_TEST_SUITE_P(Two, WithReplay,
                         testing::Values(std::vector<std::string>{"replay.updates=2"}));

class WithCurriculum : public Resume {};

// Scrambles of 0 and 1 action are always solved, so the longest one has 4 actions from update 2 on
// at least, and a run that began again with 1 action would have other weights.
TEST_P(WithCurriculum, ResumeAfterEachUpdateGivesSameWeights) {
  for (const std::int64_t at : {5, 10, 15, 20, 25, 30}) {
    fs::remove_all(folder_);
    RunInterrupted(at, [](TrainRun& run) { run.RequestStop(); });
    const Checkpoint checkpoint(folder_ / "checkpoint.safetensors");
    EXPECT_EQ(checkpoint.Counters().updates, at / 5);
    EXPECT_GE(checkpoint.State().pipeline.longest_scramble, at == 5 ? 2 : 4);
    ExpectTheSame(GoOn());
  }
}

TEST_P(WithCurriculum, ResumeWithinAnUpdateStartsFromTheLengthOfItsRows) {
  RunInterrupted(8, [](TrainRun& run) { run.RequestStop(); });  // in update 1
  EXPECT_EQ(Checkpoint(folder_ / "checkpoint.safetensors").State().pipeline.longest_scramble, 2);
  ExpectTheSame(GoOn());
}

INSTANTIATE_TEST_SUITE_P(Two, WithCurriculum,
                         testing::Values(std::vector<std::string>{"generate.target=value_iteration",
                                                                  "generate.search=greedy",
                                                                  "generate.search_iterations=10",
                                                                  "generate.curriculum=true"},
                                         std::vector<std::string>{"generate.target=value_iteration",
                                                                  "generate.search=astar",
                                                                  "generate.search_iterations=10",
                                                                  "generate.curriculum=true",
                                                                  "replay.updates=2"}));

TEST_P(ResumedInFolder, BestCannotBeResumed) {
  const RunSummary summary = RunInterrupted(-1, [](TrainRun&) {});
  const Checkpoint best(folder_ / "best.safetensors");
  EXPECT_EQ(best.iterations(), 5 * summary.best_update);
  EXPECT_THROW(best.Counters(), InputError);
  const LoadedModel model({.runs = {folder_.string()}, .checkpoints = {"best"}});
  EXPECT_EQ(model.iterations(), best.iterations());
}

TEST_P(ResumedInFolder, InitFromStartsARunWithTrainedWeights) {
  const RunSummary first = RunInterrupted(-1, [](TrainRun&) {});
  Config config = MakeConfig();
  config.network.init_from = folder_.string();
  config.optimizer.learning_rate = 0;
  config.optimizer.final_learning_rate = 0;
  config.network.norm = Norm::kBatch;
  TrainRun warm(config, {.device = device_, .stop = never_});
  warm.RequestStop();
  warm.RunUpdate();
  EXPECT_EQ(warm.Finish().weights_sha256, first.weights_sha256);

  config.network.activation = Activation::kLeakyRelu;
  EXPECT_THAT([&] { TrainRun(config, {.device = device_, .stop = never_}); },
              ThrowsMessage<InputError>(HasSubstr("trained with `network.activation: relu`")));
  config.network.activation = Activation::kRelu;
  config.network.width = 33;
  EXPECT_THROW(TrainRun(config, {.device = device_, .stop = never_}), InputError);
  config = MakeConfig();
  config.network.init_from = (temp_.path() / "nothing.safetensors").string();
  EXPECT_THROW(TrainRun(config, {.device = device_, .stop = never_}), InputError);
  config.network.init_from = folder_.string();
  config.domain.argument = "pieces";
  EXPECT_THROW(TrainRun(config, {.device = device_, .stop = never_}), InputError);
}

// Reads from a checkpoint everything that a run reads, into a network of another shape.
void ReadAll(const fs::path& file, const Config& config) {
  const auto domain = MakeDomain(config.domain.full_name());
  ResNetFC net(NetworkFor(config.network, domain->spec()), /*seed=*/0);
  const Checkpoint checkpoint(file);
  checkpoint.LoadModel(net, domain->spec().name);
  checkpoint.Counters();
  checkpoint.ConfigYaml();
  checkpoint.State();
  checkpoint.LoadState({}, {}, {});
}

// Writes a checkpoint again, with the right hash, after `alter` has changed what it says in JSON.
void Rewrite(const fs::path& file, const std::function<void(nlohmann::json&)>& alter) {
  const std::string whole = ReadFile(file);
  Safetensors read = ReadSafetensors(std::as_bytes(std::span(whole)));
  nlohmann::json content = nlohmann::json::parse(read.metadata.at("tandem"));
  alter(content);
  const std::string data = whole.substr(static_cast<std::size_t>(
      reinterpret_cast<const char*>(read.tensors.front().bytes.data()) - whole.data()));
  const auto start = [&](const std::string& hash) {
    return SafetensorsHeader({read.tensors.begin(), read.tensors.end()},
                             {{std::string(kFileHash), hash},
                              {kWeightsSha256, read.metadata.at(kWeightsSha256)},
                              {"tandem", content.dump()}});
  };
  WriteFileAtomically(file, start(HashOf(data + start(kNoFileHash))) + data);
}

TEST_P(ResumedInFolder, MalformedCheckpointErrorNamesTheEntry) {
  RunInterrupted(13, [](TrainRun& run) { run.RequestStop(); });
  const fs::path file = folder_ / "checkpoint.safetensors";
  const std::string whole = ReadFile(file);
  for (const std::string path :
       {"/iterations", "/domain", "/network/kind", "/resume/config", "/resume/counters",
        "/resume/target", "/resume/longest_scramble", "/resume/counters/updates",
        "/resume/counters/wall_s", "/resume/counters/follows_clock",
        "/resume/counters/validation/solve_rate", "/resume/target/offered"}) {
    const nlohmann::json::json_pointer place(path);
    for (const bool remove : {false, true}) {
      Rewrite(file, [&](nlohmann::json& content) {
        if (remove) {
          content.at(place.parent_pointer()).erase(place.back());
        } else {
          content.at(place) = nlohmann::json::array({"wrong"});
        }
      });
      EXPECT_THAT([&] { ReadAll(file, MakeConfig()); },
                  ThrowsMessage<InputError>(
                      AllOf(HasSubstr("checkpoint.safetensors: expected `" + place.back() + "`"))))
          << path;
      WriteFileAtomically(file, whole);
    }
  }
  Rewrite(file, [](nlohmann::json& content) {
    content["resume"]["config"] = nlohmann::json::array({300});
  });
  EXPECT_THAT([&] { ReadAll(file, MakeConfig()); },
              ThrowsMessage<InputError>(HasSubstr("a string or a list of bytes")));
  WriteFileAtomically(file, whole);
  Rewrite(file, [](nlohmann::json& content) { content.erase("resume"); });
  EXPECT_THAT([&] { ReadAll(file, MakeConfig()); },
              ThrowsMessage<InputError>(HasSubstr("no state to resume a run from")));
}

TEST_P(ResumedInFolder, ResumeRejectsAFlippedBitInAnyPartOfACheckpoint) {
  RunInterrupted(13, [](TrainRun& run) { run.RequestStop(); });
  const fs::path file = folder_ / "checkpoint.safetensors";
  const std::string before = ReadFile(file);
  const Safetensors read = ReadSafetensors(std::as_bytes(std::span(before)));
  std::vector<std::size_t> places = {before.find("hidden0"), before.find("best_update")};
  for (const StoredTensor& tensor : read.tensors) {
    if (tensor.bytes.empty()) continue;
    places.push_back(static_cast<std::size_t>(reinterpret_cast<const char*>(&tensor.bytes.back()) -
                                              before.data()));
  }
  for (const std::size_t place : places) {
    std::string damaged = before;
    damaged[place] = static_cast<char>(damaged[place] ^ 1);
    WriteFileAtomically(file, damaged);
    EXPECT_THAT([&] { GoOn(); }, ThrowsMessage<DamagedFile>(HasSubstr("its hash does not match")));
  }
  WriteFileAtomically(file, before);
  ExpectTheSame(GoOn());
}

TEST_P(ResumedInFolder, CheckpointStoresTheNetworkOnce) {
  RunInterrupted(-1, [](TrainRun&) {});
  const TensorFile file = ReadTensorFile(folder_ / "checkpoint.safetensors");
  EXPECT_TRUE(file.tensors.contains("output.weight"));
  EXPECT_FALSE(file.tensors.contains("resume.model.output.weight"));
}

TEST_P(ResumedInFolder, BestNetworkOfALaterUpdateIsDamage) {
  RunInterrupted(13, [](TrainRun& run) { run.RequestStop(); });
  const fs::path file = folder_ / "checkpoint.safetensors";
  // Its product with train.iterations_per_update could exceed 64 bits.
  Rewrite(file, [](nlohmann::json& content) {
    content["resume"]["counters"]["best_update"] = std::int64_t{1} << 50;
  });
  EXPECT_THAT([&] { Checkpoint(file).Counters(); },
              ThrowsMessage<DamagedFile>(
                  AllOf(HasSubstr("checkpoint.safetensors: `best_update` is"),
                        HasSubstr("expected at most 2, the number of completed updates"))));
}

TEST_P(ResumedInFolder, FolderLockAdmitsOneProgram) {
  RunInterrupted(3, [&](TrainRun& run) {
    EXPECT_THROW(RunDirectory::Reopen(folder_), InputError);
    run.RequestStop();
  });
  RunDirectory::Reopen(folder_);
}

INSTANTIATE_TEST_SUITE_P(One, ResumedInFolder, testing::Values(std::vector<std::string>{}));

}  // namespace
}  // namespace tandem
