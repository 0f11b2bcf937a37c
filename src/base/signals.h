// Turns Ctrl-C and termination signals into a StopSignal.
#pragma once

#include <array>
#include <csignal>

#include "base/stop_signal.h"

namespace tandem {

/// What happens at a write to a pipe whose reader has exited (SIGPIPE).
enum class ClosedPipe {
  kEndsProgram,  ///< the program ends, as by default; for commands whose output is the result
  kStops         ///< the first write requests a stop, as Ctrl-C does; later output is lost
};

/// Returns whether a signal is a new request rather than a copy of the signal that arrived
/// `seconds_since_first` seconds earlier. A supervisor may send one request twice within
/// milliseconds, to the program and to its group. A key press (`from_terminal`) is always a new
/// request.
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

  /// Returns the number of the first signal caught, or 0.
  int caught() const;

 private:
  StopSignal stop_;
  std::array<struct sigaction, 4> before_{};
};

/// While a `StopOnInterrupt` lives, SIGINT requests `stop` and never ends the program, unless it
/// was ignored, and other signals do what they did before. It is for work inside another program,
/// such as an interpreter. At most one object of StopOnSignals and StopOnInterrupt lives at a time.
class StopOnInterrupt {
 public:
  /// `stop` must outlive this object.
  explicit StopOnInterrupt(StopSignal& stop);
  ~StopOnInterrupt();
  StopOnInterrupt(const StopOnInterrupt&) = delete;
  StopOnInterrupt& operator=(const StopOnInterrupt&) = delete;

  /// Returns whether SIGINT arrived.
  bool caught() const;

 private:
  struct sigaction before_ {};
};

}  // namespace tandem
