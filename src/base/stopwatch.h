// Measures wall time in seconds.
#pragma once

#include <chrono>
#include <utility>

namespace tandem {

/// Stopwatch measures the time since its construction or the last lap.
class Stopwatch {
 public:
  using Clock = std::chrono::steady_clock;

  double Seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  Clock::time_point start() const { return start_; }

  /// Returns Seconds(), and measures from now on.
  double Lap() {
    const Clock::time_point now = Clock::now();
    return std::chrono::duration<double>(now - std::exchange(start_, now)).count();
  }

 private:
  Clock::time_point start_ = Clock::now();
};

/// ScopedTimer adds its lifetime, in seconds, to a total.
class ScopedTimer {
 public:
  explicit ScopedTimer(double& total) : total_(total) {}
  ~ScopedTimer() { total_ += watch_.Seconds(); }
  ScopedTimer(const ScopedTimer&) = delete;
  ScopedTimer& operator=(const ScopedTimer&) = delete;

 private:
  double& total_;
  Stopwatch watch_;
};

}  // namespace tandem
