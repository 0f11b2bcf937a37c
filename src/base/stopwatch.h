// Measures wall time in seconds.
#pragma once

#include <chrono>
#include <utility>

namespace tandem {

/// Stopwatch measures the time since its construction.
class Stopwatch {
 public:
  using Clock = std::chrono::steady_clock;

  double Seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  Clock::time_point start() const { return start_; }

 private:
  Clock::time_point start_ = Clock::now();
};

/// LapTimer measures the time between calls.
class LapTimer {
 public:
  /// The seconds since the last call, or since the construction if this is the first call.
  double Next() {
    const auto now = Stopwatch::Clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  Stopwatch::Clock::time_point last_ = Stopwatch::Clock::now();
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
