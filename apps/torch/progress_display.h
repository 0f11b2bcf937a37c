// Shows how far a run of `tandem train` is.
#pragma once

#include <cstdint>

#include "base/stopwatch.h"
#include "config/config.h"
#include "train/train_run.h"

namespace tandem {

/// ProgressDisplay writes the progress of a run to standard error: a bar on a terminal, a line
/// every few seconds elsewhere.
class ProgressDisplay final : public TrainObserver {
 public:
  explicit ProgressDisplay(Config config);
  ~ProgressDisplay() override;
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  void OnIteration(const TrainingProgress& progress) override;

 private:
  void Show(const TrainingProgress& progress) const;

  const bool terminal_;
  const Config config_;
  Stopwatch since_shown_;
};

}  // namespace tandem
