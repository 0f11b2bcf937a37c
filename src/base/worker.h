// Threads that do the tasks of others, and the bounded queue that hands tasks over.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "base/stop_signal.h"
#include "base/timeline.h"

namespace tandem {

/// Channel is a first-in-first-out queue of at most `capacity` items, for any number of threads.
///
/// Close wakes all waiting threads and drops the remaining items. Then every call throws its
/// reason.
template <class T>
class Channel {
 public:
  explicit Channel(std::size_t capacity) : capacity_(capacity) {}

  /// Waits while the channel is full.
  void Push(T item) {
    MutexLock lock(mutex_);
    WaitForRoom(lock);
    items_.push_back(std::move(item));
    changed_.notify_all();
  }

  /// Waits as Push does. If only this thread pushes, its next Push then does not wait.
  void AwaitRoom() {
    MutexLock lock(mutex_);
    WaitForRoom(lock);
  }

  /// Waits while the channel is empty.
  T Pop() {
    MutexLock lock(mutex_);
    while (!closed_ && items_.empty()) lock.Wait(changed_);
    return *Take();
  }

  /// Returns nothing if the channel stays empty for this time.
  std::optional<T> PopWithin(std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    MutexLock lock(mutex_);
    while (!closed_ && items_.empty() && lock.WaitUntil(changed_, end)) continue;
    return Take();
  }
  std::optional<T> TryPop() { return PopWithin(std::chrono::milliseconds(0)); }

  /// Waits for this time, or until the channel is closed.
  void Sleep(std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    MutexLock lock(mutex_);
    while (!closed_ && lock.WaitUntil(changed_, end)) continue;
    if (closed_) std::rethrow_exception(closed_);
  }

  /// Closes the channel. Only the first call counts.
  void Close(std::exception_ptr reason) {
    const MutexLock lock(mutex_);
    if (!closed_) closed_ = std::move(reason);
    items_.clear();
    changed_.notify_all();
  }

 private:
  void WaitForRoom(MutexLock& lock) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    while (!closed_ && items_.size() >= capacity_) lock.Wait(changed_);
    if (closed_) std::rethrow_exception(closed_);
  }

  std::optional<T> Take() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (closed_) std::rethrow_exception(closed_);
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    changed_.notify_all();
    return item;
  }

  const std::size_t capacity_;
  Mutex mutex_;
  std::condition_variable changed_;
  std::deque<T> items_ ABSL_GUARDED_BY(mutex_);
  std::exception_ptr closed_ ABSL_GUARDED_BY(mutex_);
};

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

/// BackgroundTasks runs tasks that write files, in order, on a thread of its own, and hands their
/// failure back to the thread that posts them. Use it from one thread.
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
  void Wait() const {
    if (last_.valid()) last_.wait();
  }

  /// Whether a task has failed and ThrowFailure has not thrown its exception: the load of a flag.
  bool failed() const { return failed_.load(std::memory_order_acquire); }

  /// Throws the exception of the first task that has failed, once. Does not wait.
  void ThrowFailure();

 private:
  void Run(const std::function<void()>& task);

  Interrupter* const interrupter_;
  std::future<void> last_, before_last_;  // ready when the last two tasks have ended
  std::exception_ptr failure_;  // of the posting thread while failed_ is set, else of the worker's
  std::atomic<bool> failed_{false};
  Worker worker_;  // last, because its thread uses everything above
};

}  // namespace tandem
