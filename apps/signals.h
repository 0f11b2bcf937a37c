// Ctrl-C and termination, as a StopSignal.
#pragma once

#include "base/stop_signal.h"

namespace tandem {

/// While it lives, the first SIGINT or SIGTERM sets the signal; a second one of the same kind ends
/// the program at once. One at a time.
class StopOnSignals {
 public:
  StopOnSignals();
  ~StopOnSignals();
  StopOnSignals(const StopOnSignals&) = delete;
  StopOnSignals& operator=(const StopOnSignals&) = delete;

  const StopSignal& stop() const { return stop_; }

  /// The number of the signal that came, or 0.
  int caught() const;

 private:
  StopSignal stop_;
};

}  // namespace tandem
