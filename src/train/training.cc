#include "train/training.h"

#include <utility>

#include "base/stop_signal.h"
#include "train/prepare_run.h"
#include "train/program_call.h"
#include "train/run_directory.h"
#include "train/train_run.h"

namespace tandem {

namespace {

// Returns the config if each of its values is one that a file may have. A program may have changed
// its fields, which are not checked when they are set.
Config Checked(const Config& config) { return ParseConfig(ToYaml(config), "the config"); }

}  // namespace

struct Training::Run {
  Run(const Config& asked, const std::filesystem::path& folder, const StopSignal* outer)
      : stop(outer),
        train(MakeNewRun(asked, {.directory = RunDirectory::Create(folder), .stop = stop})) {}

  Run(const RunDirectory& directory, const std::vector<Override>& overrides,
      const StopSignal* outer)
      : stop(outer), train(MakeResumedRun(overrides, {.directory = directory, .stop = stop})) {}

  const StopSignal stop;
  const std::unique_ptr<TrainRun> train;
};

Training::Training(std::unique_ptr<Run> run) : run_(std::move(run)) {}

Training::Training(const Config& config, const std::filesystem::path& folder,
                   const StopSignal* stop)
    : run_(CallFromProgram([&] {
        CheckDefaultType();
        return std::make_unique<Run>(Checked(config), folder, stop);
      })) {}

Training::~Training() = default;

std::unique_ptr<Training> Training::Resume(const std::filesystem::path& folder,
                                           const std::vector<Override>& overrides,
                                           const StopSignal* stop) {
  return CallFromProgram([&] {
    CheckDefaultType();
    CheckMayChange(overrides);
    auto run = std::make_unique<Run>(RunDirectory::Reopen(folder), overrides, stop);
    return std::unique_ptr<Training>(new Training(std::move(run)));
  });
}

bool Training::RunUpdate() {
  return CallFromProgram([this] {
    CheckDefaultType();
    return run_->train->RunUpdate();
  });
}

TrainingProgress Training::progress() const { return run_->train->progress(); }

const Config& Training::config() const { return run_->train->config(); }

void Training::RequestStop() noexcept { run_->train->RequestStop(); }

TrainingResult Training::Finish() {
  const RunSummary summary = CallFromProgram([this] { return run_->train->Finish(); });
  TrainingResult result{.updates = summary.updates,
                        .examples = summary.examples,
                        .seconds = summary.wall_s,
                        .final_loss = summary.final_loss,
                        .solve_rate = {},
                        .weights_sha256 = summary.weights_sha256};
  if (summary.validation) result.solve_rate = summary.validation->solve_rate;
  return result;
}

}  // namespace tandem
