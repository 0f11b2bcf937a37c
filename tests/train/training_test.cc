// Tests runs inside another program, which may have settings of its own.
#include "train/training.h"

#include <ATen/autocast_mode.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>

#include "config/load.h"
#include "nn/threads.h"
#include "support/temp_folder.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

Config ConfigOfTwoUpdates() {
  return ParseConfig(
      "domain: {name: cube2}\n"
      "network: {width: 32, blocks: 1}\n"
      "generate: {max_scramble: 8, chunk_rows: 300, workers: 1}\n"
      "train: {batch_size: 100, iterations_per_update: 5, max_updates: 2, threads: 1,\n"
      "        precision: fp32}\n"
      "backend: reference\n"
      "inference: {threads: 1, precision: fp32}\n"
      "validation: {every_updates: 2, states: 20}\n"
      "device: cpu\n",
      "small.yaml");
}

std::string TrainedWeights(const std::filesystem::path& folder) {
  Training training(ConfigOfTwoUpdates(), folder);
  while (training.RunUpdate()) {
  }
  return training.Finish().weights_sha256;
}

TEST(Training, ValueThatAProgramHasSetIsCheckedBeforeTheRunBegins) {
  const TempFolder temp;
  const std::filesystem::path folder = temp.path() / "run";
  Config config = ConfigOfTwoUpdates();
  config.train.batch_size = 0;
  EXPECT_THAT([&] { Training(config, folder); },
              ThrowsMessage<InputError>(AllOf(HasSubstr("train.batch_size"), HasSubstr("'0'"))));
  config = ConfigOfTwoUpdates();
  config.optimizer.learning_rate = -1;
  EXPECT_THAT([&] { Training(config, folder); },
              ThrowsMessage<InputError>(HasSubstr("optimizer.learning_rate")));
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(Training, RunGoesOnAfterTheProgramHasChangedItsFolder) {
  const TempFolder temp;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::create_directory(temp.path() / "elsewhere");
  std::filesystem::current_path(temp.path());
  Config config = ConfigOfTwoUpdates();
  config.replay.updates = 1;
  config.checkpoint.every_updates = 1;
  Training training(config, "run");
  std::filesystem::current_path(temp.path() / "elsewhere");
  while (training.RunUpdate()) {
  }
  training.Finish();
  std::filesystem::current_path(before);
  EXPECT_TRUE(std::filesystem::exists(temp.path() / "run" / "summary.json"));
  EXPECT_TRUE(std::filesystem::is_empty(temp.path() / "elsewhere"));
}

TEST(Training, RunThatCannotBeMadeLeavesNoFolder) {
  const TempFolder temp;
  const std::filesystem::path folder = temp.path() / "run";
  Config config = ConfigOfTwoUpdates();
  config.network.init_from = (temp.path() / "missing").string();
  EXPECT_THAT([&] { Training(config, folder); },
              ThrowsMessage<InputError>(HasSubstr("network.init_from")));
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(Training, ProgressCountsTheUpdatesThatHaveEndedAlsoAfterResuming) {
  const TempFolder temp;
  const std::filesystem::path folder = temp.path() / "run";
  {
    Training training(ConfigOfTwoUpdates(), folder);
    EXPECT_EQ(training.progress().updates, 0);
    EXPECT_EQ(training.progress().loss, std::nullopt);
    EXPECT_TRUE(training.RunUpdate());
    training.RequestStop();
    EXPECT_FALSE(training.RunUpdate());
    training.Finish();
    EXPECT_EQ(training.progress().updates, 1);
  }
  const auto training = Training::Resume(folder);
  EXPECT_EQ(training->progress().updates, 1);
  EXPECT_TRUE(training->progress().loss);
  while (training->RunUpdate()) {
  }
  const TrainingResult result = training->Finish();
  const TrainingProgress progress = training->progress();
  EXPECT_EQ(progress.updates, 2);
  EXPECT_EQ(progress.iterations, 10);
  EXPECT_EQ(progress.planned_iterations, 10);
  EXPECT_EQ(progress.examples, 1000);
  EXPECT_EQ(progress.loss, result.final_loss);
  EXPECT_EQ(progress.solve_rate, result.solve_rate);
  EXPECT_TRUE(progress.value_error);
}

TEST(Training, ModesOfTheCallingThreadDoNotChangeTheWeights) {
  const TempFolder temp;
  const std::string expected = TrainedWeights(temp.path() / "plain");
  {
    const c10::NoGradGuard no_grad;
    EXPECT_EQ(TrainedWeights(temp.path() / "no_grad"), expected);
    EXPECT_FALSE(c10::GradMode::is_enabled());
  }
  {
    const c10::InferenceMode inference;
    EXPECT_EQ(TrainedWeights(temp.path() / "inference"), expected);
    EXPECT_TRUE(c10::InferenceMode::is_enabled());
  }
  {
    const ScopedAutocast autocast(c10::kCPU, /*enabled=*/true);
    EXPECT_EQ(TrainedWeights(temp.path() / "autocast"), expected);
    EXPECT_TRUE(at::autocast::is_autocast_enabled(c10::kCPU));
  }
}

TEST(Training, AnotherDefaultTypeOfTensorsIsAnError) {
  const TempFolder temp;
  const caffe2::TypeMeta before = c10::get_default_dtype();
  c10::set_default_dtype(c10::scalarTypeToTypeMeta(c10::ScalarType::Double));
  EXPECT_THAT([&] { TrainedWeights(temp.path() / "run"); },
              ThrowsMessage<InputError>(HasSubstr("is Double in this program, expected Float")));
  c10::set_default_dtype(before);
  EXPECT_FALSE(std::filesystem::exists(temp.path() / "run"));
}

}  // namespace
}  // namespace tandem
