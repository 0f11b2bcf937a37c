// Stops a run after a given number of iterations.
#pragma once

#include <cstdint>

#include "train/train_run.h"

namespace tandem {

class StopAfter final : public TrainObserver {
 public:
  /// Observes `run`, which must not run updates after this object is destroyed.
  StopAfter(TrainRun& run, std::int64_t iterations) : run_(run), iterations_(iterations) {
    run.AddObserver(*this);
  }
  void OnIteration(const Progress& progress) override {
    if (progress.iterations_done == iterations_) run_.RequestStop();
  }

 private:
  TrainRun& run_;
  std::int64_t iterations_;
};

}  // namespace tandem
