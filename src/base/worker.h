// One background thread that does one task at a time.
#pragma once

#include <functional>
#include <future>
#include <string>
#include <thread>

#include "base/channel.h"
#include "base/timeline.h"

namespace tandem {

/// Worker runs tasks on a thread of its own, in the order in which they were posted.
///
/// The name shows in debuggers (its first 15 characters) and in traces. If the thread that creates
/// the worker has a timeline, the worker uses the track of its name there, so workers that exist at
/// the same time need different names.
class Worker {
 public:
  explicit Worker(std::string name);

  /// Waits for the running task. Tasks that have not started are dropped.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Waits while an earlier task has not started, so at most one task is queued. The future is
  /// ready when the task has ended, and holds the exception if it threw one. If the task is
  /// dropped, the future throws std::future_error.
  std::future<void> Post(std::function<void()> task);

 private:
  void Run();

  Track* track_ = nullptr;  // null if the creator has no timeline
  Channel<std::packaged_task<void()>> tasks_{1};
  std::thread thread_;  // last, because it uses everything above
};

}  // namespace tandem
