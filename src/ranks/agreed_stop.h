// A stop that all ranks of a run make after the same iteration.
#pragma once

#include "base/stop_signal.h"

namespace tandem {

/// AgreedStop holds a stop of this rank back until all ranks know of it. In each iteration, every
/// rank votes for a stop because it was requested (wants_stop) or because its time is up.
/// GradientReducer reads the votes of all ranks in the next iteration, or at the end of the update
/// if that comes first, and calls Decide. Only then `signal` is reached. A stop therefore takes
/// effect one iteration after the vote, but never later than the end of the vote's update. Use it
/// from the main thread; other threads may read the signal.
class AgreedStop {
 public:
  /// `local` has this rank's stop requests and its time limit. It must outlive this object.
  explicit AgreedStop(const StopSignal& local) : local_(local) {}

  bool wants_stop() const { return local_.requested(); }
  bool time_is_up() const { return local_.deadline_passed(); }

  /// What the ranks agreed on: whether any of them was requested to stop, or has no time left.
  void Decide(bool requested, bool time_is_up) {
    requested_ = requested_ || requested;
    if (requested || time_is_up) signal_.Request();
  }

  /// Whether a rank was requested to stop; otherwise a stop is due to the time limit.
  bool requested() const { return requested_; }

  const StopSignal& signal() const { return signal_; }

 private:
  const StopSignal& local_;
  StopSignal signal_;
  bool requested_ = false;
};

}  // namespace tandem
