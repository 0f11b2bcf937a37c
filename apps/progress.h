// Shows how far a run is: a bar on a terminal, a line now and then elsewhere.
#pragma once

#include <string>

#include "base/stopwatch.h"
#include "run/train_run.h"

namespace tandem {

class ProgressDisplay final : public TrainObserver {
 public:
  ProgressDisplay();
  ~ProgressDisplay() override { Close(); }

  void OnIteration(const Progress& progress) override;

  /// Ends the bar's line, so that others can print.
  void Close();

 private:
  void Show(const Progress& progress);

  const bool terminal_;
  Stopwatch since_shown_;
  bool line_open_ = false;
};

}  // namespace tandem
