// A request to stop early that long-running work polls.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <optional>

namespace tandem {

/// Thrown by work that was stopped before it was done. It is no failure: whoever set the signal
/// expects it.
class Stopped : public std::exception {
 public:
  const char* what() const noexcept override { return "stopped on request"; }
};

/// Set by anyone, polled by workers between steps. Request() is safe in a signal handler.
class StopSignal {
 public:
  using Clock = std::chrono::steady_clock;

  StopSignal() = default;

  /// Is also reached whenever `outer` is, which must outlive this.
  explicit StopSignal(const StopSignal* outer) : outer_(outer) {}

  void Request() noexcept { requested_.store(true, std::memory_order_relaxed); }

  /// Whether someone asked, here or there; a time limit is no request.
  bool requested() const noexcept {
    return requested_.load(std::memory_order_relaxed) || (outer_ != nullptr && outer_->requested());
  }

  /// Also stop at this time. Call before the work starts.
  void SetDeadline(Clock::time_point deadline) { deadline_ = deadline; }

  bool Reached() const noexcept {
    return requested_.load(std::memory_order_relaxed) ||
           (deadline_.has_value() && Clock::now() >= *deadline_) ||
           (outer_ != nullptr && outer_->Reached());
  }

 private:
  static_assert(std::atomic<bool>::is_always_lock_free, "Request() must be async-signal-safe");

  std::atomic<bool> requested_{false};
  const StopSignal* outer_ = nullptr;
  std::optional<Clock::time_point> deadline_;
};

}  // namespace tandem
