// A request to stop early, which long-running work polls.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <optional>

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

}  // namespace tandem
