// A limit on the time of work that also ends on request.
#pragma once

#include "base/stop_signal.h"
#include "base/stopwatch.h"

namespace tandem {

/// Deadline is reached a number of seconds after its construction, or once a stop is requested.
class Deadline {
 public:
  /// `stop` must outlive this.
  Deadline(double seconds, const StopSignal& stop) : seconds_(seconds), stop_(stop) {}

  double Remaining() const { return seconds_ - watch_.Seconds(); }
  bool Reached() const { return Remaining() <= 0 || stop_.Reached(); }
  const StopSignal& stop() const { return stop_; }

 private:
  const double seconds_;
  const StopSignal& stop_;
  const Stopwatch watch_;
};

}  // namespace tandem
