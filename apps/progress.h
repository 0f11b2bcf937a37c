// Shows how far a run is: a bar on a terminal, a line now and then elsewhere.
#pragma once

#include <string>

#include "base/stopwatch.h"
#include "run/train_run.h"

namespace tandem {

class ProgressDisplay final : public TrainObserver {
 public:
  /// With `validation.log` in the config of the run, shows a line for each validation.
  explicit ProgressDisplay(const TrainConfig& config);
  ~ProgressDisplay() override { Close(); }

  void OnIteration(const Progress& progress) override;
  void OnValidation(std::int64_t updates, const ValidationReport& report) override;

  /// Ends the bar's line, so that others can print.
  void Close();

 private:
  void Show(const Progress& progress);

  const bool terminal_;
  const TrainConfig config_;
  Stopwatch since_shown_;
};

}  // namespace tandem
