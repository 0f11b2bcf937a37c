// Requests to stop early: by the program, by signals, and for threads that wait.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <functional>
#include <list>
#include <optional>
#include <utility>

#include "base/mutex.h"

namespace tandem {

/// Stopped is thrown by work that a StopSignal ended early. It is not an error, because the caller
/// that requested the stop expects it.
class Stopped : public std::exception {
 public:
  const char* what() const noexcept override { return "stopped on request"; }
};

/// StopSignal asks work to stop early. Any thread may set it; workers poll it between steps.
/// Request() may be called in a signal handler.
///
/// An Interrupter ends the waits of threads, which poll nothing. An AgreedStop is a stop that all
/// ranks of a run make after the same iteration. RunStop unites them for a run.
class StopSignal {
 public:
  using Clock = std::chrono::steady_clock;

  StopSignal() = default;

  /// Creates a signal that is also reached whenever `outer` is. `outer` must outlive this.
  explicit StopSignal(const StopSignal* outer) : outer_(outer) {}

  /// Creates a signal that is also reached whenever `outer` is, and this many seconds from now.
  StopSignal(const StopSignal* outer, double seconds) : outer_(outer) { SetDeadlineIn(seconds); }

  void Request() noexcept { requested_.store(true, std::memory_order_relaxed); }

  /// Whether a stop was requested here or in the outer signal. A deadline is not a request.
  bool requested() const noexcept {
    return requested_.load(std::memory_order_relaxed) || (outer_ != nullptr && outer_->requested());
  }

  /// Also stops the work this many seconds after `start`. Must be called before the work starts.
  void SetDeadline(Clock::time_point start, double seconds) {
    const std::chrono::duration<double> time(seconds);
    deadline_ = start + std::chrono::duration_cast<Clock::duration>(time);
  }

  /// Also stops the work this many seconds from now. Must be called before the work starts.
  void SetDeadlineIn(double seconds) { SetDeadline(Clock::now(), seconds); }

  /// Whether the deadline, here or of the outer signal, has passed.
  bool deadline_passed() const noexcept {
    return (deadline_.has_value() && Clock::now() >= *deadline_) ||
           (outer_ != nullptr && outer_->deadline_passed());
  }

  /// Whether the work should stop: a stop was requested, or the deadline has passed.
  bool Reached() const noexcept { return requested() || deadline_passed(); }

 private:
  static_assert(std::atomic<bool>::is_always_lock_free, "Request() must be async-signal-safe");

  std::atomic<bool> requested_{false};
  const StopSignal* outer_ = nullptr;
  std::optional<Clock::time_point> deadline_;
};

/// What happens at a write to a pipe whose reader has exited (SIGPIPE).
enum class ClosedPipe {
  kEndsProgram,  ///< the program ends, as by default; for commands whose output is the result
  kStops         ///< the first write requests a stop, as Ctrl-C does; later output is lost
};

/// Whether a signal is a new request and not a copy of the one that came `seconds_since_first`
/// seconds earlier. A supervisor may send one request twice within milliseconds, to the program and
/// to its group. A key press (`from_terminal`) is always a new request.
bool IsNewRequest(bool from_terminal, double seconds_since_first);

/// While a StopOnSignals lives, the first SIGINT, SIGTERM or SIGHUP requests a stop, and the second
/// one ends the program at once. Ignored signals stay ignored. At most one object lives at a time.
class StopOnSignals {
 public:
  explicit StopOnSignals(ClosedPipe closed_pipe = ClosedPipe::kEndsProgram)
      : StopOnSignals(own_, closed_pipe == ClosedPipe::kStops ? 4 : 3, /*second_ends=*/true) {}

  /// For work inside another program, such as an interpreter: SIGINT requests `stop`, which must
  /// outlive this object, and never ends the program. Other signals do what they did before.
  explicit StopOnSignals(StopSignal& stop) : StopOnSignals(stop, 1, /*second_ends=*/false) {}
  ~StopOnSignals();
  StopOnSignals(const StopOnSignals&) = delete;
  StopOnSignals& operator=(const StopOnSignals&) = delete;

  const StopSignal& stop() const { return stop_; }

  /// Returns the number of the first signal caught, or 0.
  int caught() const;

 private:
  StopOnSignals(StopSignal& stop, std::size_t num_signals, bool second_ends);

  StopSignal own_;
  StopSignal& stop_;
  const std::size_t num_signals_;
  std::array<struct sigaction, 4> before_{};
};

/// Interrupter lets a thread end the waits of others, which a StopSignal cannot, because nobody
/// polls it while all wait. The owner of a queue registers a function that closes it. Thread-safe.
class Interrupter {
 public:
  using Close = std::function<void(std::exception_ptr)>;

  /// Registration withdraws a function when it is destroyed, and waits while the function runs.
  class Registration {
   public:
    /// Without an owner, does nothing.
    Registration(Interrupter* owner, Close close) : owner_(owner) {
      if (owner_ == nullptr) return;
      const MutexLock lock(owner_->mutex_);
      place_ = owner_->closes_.insert(owner_->closes_.end(), std::move(close));
    }
    ~Registration() {
      if (owner_ == nullptr) return;
      const MutexLock lock(owner_->mutex_);
      owner_->closes_.erase(place_);
    }
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

   private:
    Interrupter* const owner_;
    std::list<Close>::iterator place_;
  };

  /// Calls all registered functions with `reason`, which the waits then throw.
  void Interrupt(const std::exception_ptr& reason) {
    const MutexLock lock(mutex_);
    for (const Close& close : closes_) close(reason);
  }

 private:
  Mutex mutex_;
  std::list<Close> closes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tandem
