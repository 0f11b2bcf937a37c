// Notices that a run has stopped making progress.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/stopwatch.h"
#include "base/timeline.h"

namespace tandem {

/// Returns which thread is stuck and what each thread does, or "" if the run makes progress. Each
/// change of a thread's activity counts as progress. A run is stuck if a thread has worked for
/// `limit_s` seconds in one activity, or if all threads that are not idle have waited for so long.
/// The first thread is the main thread; while it is idle, the others may wait for it.
std::string DescribeStall(const std::vector<ThreadState>& threads, double limit_s);

/// Watchdog looks at the threads of a timeline from a thread of its own. If looking or an action
/// throws, for example because memory ran out, it looks again later.
class Watchdog {
 public:
  /// What to do, on the watchdog's thread. An empty function does nothing.
  struct Actions {
    /// The run has become stuck; called once, until it makes progress again.
    std::function<void(const std::string& description)> on_stall;
    /// The run is still stuck `limit_s` seconds after on_stall; called once for each on_stall.
    std::function<void()> on_no_recovery;
  };

  /// `timeline` must outlive this object. `limit_s` is above 0.
  Watchdog(const Timeline& timeline, double limit_s, Actions actions);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void Run(const std::stop_token& stop);
  void Look();

  const Timeline& timeline_;
  const double limit_s_;
  const Actions actions_;

  // Used by the thread only.
  bool reported_ = false;  // on_stall was called for the current stall
  Stopwatch since_report_;
  bool gave_up_ = false;  // on_no_recovery was called for the current stall

  std::jthread thread_;  // last, because it uses everything above
};

}  // namespace tandem
