// Long work that Ctrl-C stops.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "base/stop_signal.h"

namespace tandem::python {

/// SignalCheck lets Ctrl-C end work that a thread of Python shares with worker threads. Python
/// handles signals only while its main thread runs Python code, so that thread must ask now and
/// then whether to go on. Puzzles in Python may run meanwhile; a signal that one of them meets is
/// handled there.
class SignalCheck {
 public:
  /// Create it in the thread that Python called.
  SignalCheck() = default;

  /// Returns whether the work should go on. Any thread of the work may call this, without the GIL.
  /// The thread that created this object then handles signals, but takes the GIL for it only some
  /// times per second.
  bool Continue() {
    if (std::this_thread::get_id() == caller_ && Clock::now() >= next_) HandleSignals();
    return !stopped_.load(std::memory_order_relaxed);
  }

  /// Throws what the handler of a signal raised, if that ended the work. Call it after the work.
  void RethrowRaised() {
    if (raised_) throw nanobind::python_error(std::move(*raised_));
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kPause{50};

  void HandleSignals();

  const std::thread::id caller_ = std::this_thread::get_id();
  Clock::time_point next_ = Clock::now() + kPause;  // only the caller uses this
  std::optional<nanobind::python_error> raised_;
  std::atomic<bool> stopped_{false};
};

/// Does what Ctrl-C would have done when it arrived: calls Python's handler of SIGINT, which
/// usually raises KeyboardInterrupt, or ends a program that has given the signal its default
/// action.
void RaiseInterrupt();

/// Runs `work` without the GIL. Python handles a signal only between two steps of the interpreter,
/// so in the main thread Ctrl-C requests `stop` meanwhile, and RaiseInterrupt follows once the work
/// has returned or thrown Stopped. If the work has failed, its error arrives first, and Python
/// handles the signal at its next step. In other threads Ctrl-C does nothing, as in Python.
void RunInterruptibly(StopSignal& stop, const std::function<void()>& work);

}  // namespace tandem::python
