// Tests what is checked and chosen before a run begins.
#include "train/prepare_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "base/fault_point.h"
#include "config/load.h"
#include "nn/device.h"
#include "support/small_run.h"
#include "support/temp_folder.h"
#include "tandem/error.h"
#include "train/resolve.h"
#include "train/run_counters.h"
#include "train/run_directory.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

// In bf16, the fused step and the fused copy need an even width.
constexpr const char* kOddWidth =
    "domain: {name: npuzzle, size: 3}\n"
    "device: cpu\n"
    "generate: {max_scramble: 8, workers: 1}\n"
    "network: {width: 33, blocks: 1, norm: layer}\n"
    "train: {batch_size: 20, iterations_per_update: 8, max_updates: 2, threads: 1,\n"
    "  precision: bf16}\n"
    "inference: {threads: 1, precision: bf16}\n"
    "backend: reference\n"
    "validation: {every_updates: 0}\n";

// A run in a folder whose config.yaml names backend cpu, as if another machine had chosen it.
class RunOfAnotherMachine : public testing::Test {
 protected:
  RunOfAnotherMachine() {
    TrainRun run(ConfigWith(kOddWidth, {}, *device_),
                 {.device = device_, .directory = RunDirectory::Create(folder_), .stop = never_});
    run.RunUpdate();
    run.AwaitCheckpoint();
    Config config = LoadConfig(folder_ / "config.yaml");
    config.backend = BackendKind::kCpu;
    std::ofstream(folder_ / "config.yaml") << ToYaml(config);
  }

  Config Rest(const std::vector<Override>& overrides = {}) const {
    RunOptions options{.directory = RunDirectory::Reopen(folder_), .stop = never_};
    return PrepareResume(Checkpoint(options.directory->checkpoint()), overrides, options);
  }

  const TempFolder temp_;
  const fs::path folder_ = temp_.path() / "run";
  const std::shared_ptr<Device> device_ = OpenDevice("cpu");
  const StopSignal never_;
};

TEST_F(RunOfAnotherMachine, GetsABackendThatThisOneHas) {
  EXPECT_EQ(Rest().backend, BackendKind::kReference);
}

// A CPU has the backend of a GPU too, but it is slow there.
TEST_F(RunOfAnotherMachine, LeavesTheBackendOfItsGpu) {
  const auto rest_of_run_on = [&](const char* device) {
    Config config = LoadConfig(folder_ / "config.yaml");
    config.device = device;
    config.backend = BackendKind::kGpu;
    std::ofstream(folder_ / "config.yaml") << ToYaml(config);
    return Rest({ParseOverride("device=cpu")});
  };
  const Config of_gpu = rest_of_run_on("cuda:0");
  EXPECT_EQ(of_gpu.backend, BackendKind::kReference);
  const Config of_cpu = rest_of_run_on("cpu");
  EXPECT_EQ(of_cpu.backend, BackendKind::kGpu);
}

TEST_F(RunOfAnotherMachine, KeepsABackendThatTheUserNames) {
  EXPECT_EQ(Rest({ParseOverride("backend=cpu")}).backend, BackendKind::kCpu);
}

TEST_F(RunOfAnotherMachine, MissingPathErrorNamesTheKey) {
  EXPECT_NO_THROW(Rest({ParseOverride("validation.file=/none")}));  // it does not validate
  const Config config = ParseConfig(
      kOddWidth, "small.yaml",
      {ParseOverride("validation.file=/none"), ParseOverride("validation.every_updates=1")});
  RunOptions options{.stop = never_};
  EXPECT_THAT([&] { PrepareNew(config, options); },
              ThrowsMessage<InputError>("`validation.file`: /none: no such file"));
}

TEST(IsComplete, CountsTheTimeOfASummaryThatIsNotDamaged) {
  const TempFolder temp;
  Config config;
  config.train.max_seconds = 10;
  RunCounters done;
  done.updates = 3;
  done.wall_s = 5;
  EXPECT_FALSE(IsComplete(config, done, temp.path()));
  for (const char* damaged : {"{\"wall_s\": \"20\"}", "{\"wall_s\": null}", "{}", "[]", "torn"}) {
    std::ofstream(temp.path() / "summary.json") << damaged;
    EXPECT_FALSE(IsComplete(config, done, temp.path())) << damaged;
  }
  std::ofstream(temp.path() / "summary.json") << "{\"wall_s\": 20}";
  EXPECT_TRUE(IsComplete(config, done, temp.path()));
}

TEST(MakeNewRun, FolderCanBeUsedAgainIfTheFirstCheckpointCannotBeWritten) {
  const TempFolder temp;
  const fs::path folder = temp.path() / "run";
  const StopSignal never;
  const Config config = ParseConfig(std::string(kOddWidth) + "replay: {updates: 1}\n", "test");
  ArmFault("checkpoint.write:full");
  const auto make = [&] {
    MakeNewRun(config, {.directory = RunDirectory::Create(folder), .stop = never});
  };
  EXPECT_THROW(make(), std::system_error);
  ArmFault("");
  EXPECT_FALSE(fs::exists(folder));
  make();
}

TEST(ResolveAutosTest, ConfigOfAMachineWithMoreCoresThanAKeyAllowsCanBeReadAgain) {
  const Config config = ResolveAutos(ParseConfig("", "my.yaml"), *OpenDevice("cpu"), 5000);
  EXPECT_EQ(config.train.threads, 1024);
  EXPECT_EQ(config.generate.workers, 1024);
  EXPECT_EQ(config.inference.threads, 1024);
  EXPECT_EQ(ToYaml(ParseConfig(ToYaml(config), "config.yaml")), ToYaml(config));
}

}  // namespace
}  // namespace tandem
