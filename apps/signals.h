// Ctrl-C and termination, as a StopSignal.
#pragma once

#include <array>
#include <csignal>

#include "base/stop_signal.h"

namespace tandem {

/// What a write to a pipe that nobody reads any more (SIGPIPE) does.
enum class ClosedPipe {
  kEndsProgram,  ///< the system's default, for programs whose output is the result
  kStops         ///< the same as Ctrl-C, once: later writes to the pipe are lost
};

/// Whether a signal is a request of its own, and no copy of the one that came `seconds_since_first`
/// earlier. A supervisor may send one request twice within milliseconds, to the program and to its
/// group. A key that is pressed (`from_terminal`) is always a request.
bool IsNewRequest(bool from_terminal, double seconds_since_first);

/// While a `StopOnSignals` lives, the first SIGINT, SIGTERM or SIGHUP requests a stop, and the
/// second one ends the program at once. Signals that were ignored stay ignored. At most one object
/// lives at a time.
class StopOnSignals {
 public:
  explicit StopOnSignals(ClosedPipe closed_pipe = ClosedPipe::kEndsProgram);
  ~StopOnSignals();
  StopOnSignals(const StopOnSignals&) = delete;
  StopOnSignals& operator=(const StopOnSignals&) = delete;

  const StopSignal& stop() const { return stop_; }

  /// The number of the signal that came, or 0.
  int caught() const;

 private:
  StopSignal stop_;
  std::array<struct sigaction, 4> before_{};
};

}  // namespace tandem
