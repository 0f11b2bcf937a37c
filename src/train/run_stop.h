// The reasons for which a run ends before its last update.
#pragma once

#include <atomic>
#include <optional>

#include "base/stop_signal.h"
#include "base/stopwatch.h"
#include "base/timeline.h"
#include "base/watchdog.h"
#include "config/config.h"
#include "ranks/ranks.h"

namespace tandem {

/// RunStop unites what can end a run early: stop requests, the time limit, the other ranks, and
/// the watchdog. Use it from the main thread; other threads may call Request and read the signals.
class RunStop {
 public:
  /// The run ends once `outer`, which must outlive this object, is reached. With `among_ranks`, it
  /// ends only after an iteration that all ranks have agreed on.
  RunStop(const StopSignal& outer, bool among_ranks);

  /// Limits the run to `seconds` after `began`.
  void SetTimeLimit(const Stopwatch& began, double seconds);

  /// Starts the watchdog of `config`, if it has one, on the threads of `timeline`, which must
  /// outlive this object. A run that is stuck is stopped as by a request, its waits for buffers end
  /// with an error, and ThrowIfStalled throws that error. If the run does not end even then, the
  /// process does.
  void Watch(const Timeline& timeline, const TrainingConfig& config);

  /// Throws Error if the watchdog has stopped the run.
  void ThrowIfStalled() const;

  /// Ends the run after the current iteration. Safe in a signal handler and from any thread.
  void Request() noexcept { requests_.Request(); }

  /// Ends fills and trainings, for any reason.
  const StopSignal& signal() const { return agreed_ ? agreed_->signal() : local_; }

  /// The stop requests to this process, without the time limit.
  const StopSignal& requests() const { return requests_; }

  /// Once signal() is reached: whether a stop was requested, from any rank. If not, time is up.
  bool requested() const { return agreed_ ? agreed_->requested() : requests_.requested(); }

  /// Null if this process trains alone.
  AgreedStop* agreed() { return agreed_ ? &*agreed_ : nullptr; }

  /// Ends the waits of a run that is stuck.
  Interrupter& interrupter() { return interrupter_; }

 private:
  void StopStuckRun();

  StopSignal requests_;
  StopSignal local_;  // stop requests and the time limit
  std::optional<AgreedStop> agreed_;
  Interrupter interrupter_;
  std::atomic<bool> stalled_ = false;
  std::optional<Watchdog> watchdog_;  // last, because its thread uses everything above
};

}  // namespace tandem
