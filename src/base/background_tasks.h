// Tasks that run while the thread that posts them goes on.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "base/interrupter.h"
#include "base/worker.h"

namespace tandem {

/// BackgroundTasks runs tasks in order on a thread of its own, and hands their failure back to
/// the thread that posts them. Use it from one thread.
///
/// Example, a file that is written while the program works on:
///
///     BackgroundTasks writer("writer");
///     writer.Post([copy = Copy(state)] { Write(copy); });
///     while (Work()) writer.ThrowFailure();
///     writer.Wait();
///     writer.ThrowFailure();
class BackgroundTasks {
 public:
  /// `name` is that of the thread, as that of a Worker. With `interrupter`, which must outlive this
  /// object, a failure also ends the waits that it knows, because the posting thread cannot ask for
  /// the failure while it waits.
  explicit BackgroundTasks(std::string name, Interrupter* interrupter = nullptr)
      : interrupter_(interrupter), worker_(std::move(name)) {}

  /// Waits for all tasks. A failure that ThrowFailure has not thrown is lost.
  ~BackgroundTasks() { Wait(); }
  BackgroundTasks(const BackgroundTasks&) = delete;
  BackgroundTasks& operator=(const BackgroundTasks&) = delete;

  /// Waits while two earlier tasks have not ended, so that tasks that are slower than the posting
  /// thread do not pile up with the memory that they hold.
  void Post(std::function<void()> task);

  /// Waits until all tasks have ended.
  void Wait() const;

  /// Whether a task has failed and ThrowFailure has not thrown its exception. Costs the load of a
  /// flag.
  bool failed() const { return failed_.load(std::memory_order_acquire); }

  /// Throws the exception of the first task that has failed, once. Does not wait.
  void ThrowFailure();

 private:
  void Run(const std::function<void()>& task);

  Interrupter* const interrupter_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::int64_t posted_ = 0;     // only the posting thread uses it
  std::int64_t ended_ = 0;      // guarded by mutex_
  std::exception_ptr failure_;  // guarded by mutex_
  std::atomic<bool> failed_{false};
  Worker worker_;  // last, because its thread uses everything above
};

}  // namespace tandem
