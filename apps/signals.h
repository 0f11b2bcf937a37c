// Ctrl-C and termination, as a StopSignal.
#pragma once

#include <array>
#include <csignal>

#include "base/stop_signal.h"

namespace tandem {

/// While it lives, the first SIGINT, SIGTERM or SIGHUP sets the signal; another one, more than a
/// second later, ends the program at once. Signals that were ignored stay so. One at a time.
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
  std::array<struct sigaction, 3> before_{};
};

}  // namespace tandem
