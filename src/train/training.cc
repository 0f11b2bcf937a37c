#include "train/training.h"

#include "base/stop_signal.h"
#include "base/stopwatch.h"
#include "nn/device.h"
#include "nn/torch_message.h"
#include "train/calibrate.h"
#include "train/run_directory.h"
#include "train/train_run.h"

namespace tandem {

struct Training::Run {
  Run(const Config& asked, const std::filesystem::path& folder)
      : device(OpenDevice(asked.device)), directory(RunDirectory::Create(folder)) {
    try {
      train.emplace(ReplaceAutos(asked, device, began, stop), device, directory, stop, began);
    } catch (...) {
      directory.Abandon();  // does nothing if the run has already written files
      throw;
    }
  }

  const Stopwatch began;
  const StopSignal stop;  // never reached: requests go to `train`
  const std::shared_ptr<Device> device;
  const RunDirectory directory;
  std::optional<TrainRun> train;  // set by the constructor
};

Training::Training(const Config& config, const std::filesystem::path& folder)
    : run_(WithPlainErrors([&] { return std::make_unique<Run>(config, folder); })) {}

Training::~Training() = default;

bool Training::RunUpdate() {
  return WithPlainErrors([this] { return run_->train->RunUpdate(); });
}

void Training::RequestStop() noexcept { run_->train->RequestStop(); }

TrainingResult Training::Finish() {
  const RunSummary summary = WithPlainErrors([this] { return run_->train->Finish(); });
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
