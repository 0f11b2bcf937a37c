#include "train/training.h"

#include <utility>

#include "base/stop_signal.h"
#include "base/stopwatch.h"
#include "config/write.h"
#include "train/checkpoint.h"
#include "train/prepare_run.h"
#include "train/program_call.h"
#include "train/resume.h"
#include "train/run_directory.h"
#include "train/train_run.h"

namespace tandem {

namespace {

// Returns the config if each of its values is one that a file may have. A program may have changed
// its fields, which are not checked when they are set.
Config Checked(const Config& config) { return ParseConfig(ToYaml(config), "the config"); }

}  // namespace

struct Training::Run final : TrainObserver {
  // A new run.
  Run(const Config& asked, const std::filesystem::path& folder, const StopSignal* outer)
      : stop(outer), directory(RunDirectory::Create(folder)) {
    try {
      Begin(PrepareNew(asked, /*group=*/nullptr, began, stop));
    } catch (...) {
      directory.Abandon();  // does nothing if the run has already written files
      throw;
    }
  }

  // The run in `folder` from the checkpoint in `file`.
  Run(RunDirectory folder, const std::filesystem::path& file,
      const std::vector<Override>& overrides, const StopSignal* outer)
      : stop(outer), directory(std::move(folder)) {
    const PreparedRun prepared = PrepareRest(directory, file, overrides, /*group=*/nullptr);
    const RunCounters done = prepared.from->Counters();
    Begin(prepared);
    progress = {.updates = done.updates,
                .iterations = done.iterations,
                .examples = done.examples,
                .seconds = done.wall_s,
                .loss = done.iterations > 0 ? std::optional(done.final_loss) : std::nullopt,
                .solve_rate = {},
                .value_error = {}};
    if (done.validation) Note(*done.validation);
  }

  void Begin(const PreparedRun& prepared) {
    train.emplace(prepared.config, prepared.device, directory, stop, began, prepared.from.get());
    train->AddObserver(*this);
  }

  void OnIteration(const Progress& now) override {
    progress.iterations = now.iterations_done;
    progress.examples = now.examples;
    progress.seconds = now.seconds;
  }

  void OnUpdate(const UpdateRecord& record) override {
    const std::int64_t whole = train->config().train.iterations_per_update;
    progress.updates = record.update + (record.train.iterations == whole ? 1 : 0);
    progress.loss = record.train.loss;
  }

  void OnValidation(std::int64_t /*updates*/, const ValidationReport& report) override {
    Note(report);
  }

  void Note(const ValidationResult& validation) {
    progress.solve_rate = validation.solve_rate;
    progress.value_error = validation.value_error;
  }

  const Stopwatch began;
  const StopSignal stop;
  const RunDirectory directory;
  TrainingProgress progress;
  std::optional<TrainRun> train;  // set by the constructors
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
    const RunDirectory directory = RunDirectory::Reopen(folder);
    auto run = OpenNewest(directory, [&](const std::filesystem::path& file) {
      return std::make_unique<Run>(directory, file, overrides, stop);
    });
    return std::unique_ptr<Training>(new Training(std::move(run)));
  });
}

bool Training::RunUpdate() {
  return CallFromProgram([this] {
    CheckDefaultType();
    return run_->train->RunUpdate();
  });
}

TrainingProgress Training::progress() const { return run_->progress; }

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
