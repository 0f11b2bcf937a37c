// Shows the progress of a run: a bar on a terminal, a line every few seconds elsewhere.
#pragma once

#include <string>

#include "base/stopwatch.h"
#include "train/train_run.h"

namespace tandem {

/// `ProgressDisplay` writes the progress of a run to standard error.
class ProgressDisplay final : public TrainObserver {
 public:
  /// If `config` has `validation.log`, also logs a line for each validation.
  explicit ProgressDisplay(const Config& config);
  ~ProgressDisplay() override { Close(); }

  void OnIteration(const Progress& progress) override;
  void OnValidation(std::int64_t updates, const ValidationReport& report) override;

  /// Ends the bar's line, so that other output starts on a new line.
  void Close();

 private:
  void Show(const Progress& progress);

  const bool terminal_;
  const Config config_;
  Stopwatch since_shown_;
};

}  // namespace tandem
