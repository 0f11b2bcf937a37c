// One background thread that does one task at a time.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "base/timeline.h"

namespace tandem {

/// Runs tasks on a thread of its own, in the order posted. The name shows in debuggers and traces
/// (at most 15 characters). Tasks must not throw: they hand exceptions to whoever waits for them.
/// It works on the track of that name in the timeline of the thread that makes it, if there is one;
/// of workers that live at a time, no two have the same.
class Worker {
 public:
  explicit Worker(std::string name);

  /// Waits for the task in hand; tasks not yet started are dropped.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Blocks while an earlier task has not yet been started, so at most one waits.
  void Post(std::function<void()> task);

 private:
  void Run();
  void Do(const std::function<void()>& task) const;

  Track* track_ = nullptr;  // null where nobody keeps books
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> next_;  // guarded by mutex_
  bool ending_ = false;         // guarded by mutex_
  std::thread thread_;          // last: it uses everything above
};

}  // namespace tandem
