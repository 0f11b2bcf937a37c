// A mutex whose use clang checks.
#pragma once

#include <absl/base/thread_annotations.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace tandem {

/// Mutex is a std::mutex for members that are marked ABSL_GUARDED_BY and functions that are marked
/// ABSL_EXCLUSIVE_LOCKS_REQUIRED. clang (-Wthread-safety, in `make lint`) reports code that uses
/// one of them without holding the mutex.
class ABSL_LOCKABLE Mutex {
 private:
  friend class MutexLock;
  std::mutex mutex_;
};

/// MutexLock holds a mutex until it is destroyed. Code that waits tests its condition in a loop:
/// clang cannot see that a condition in a lambda is tested while the mutex is held.
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : lock_(mutex.mutex_) {}
  ~MutexLock() ABSL_UNLOCK_FUNCTION() = default;
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  /// Releases the mutex until `changed` is notified.
  void Wait(std::condition_variable& changed) { changed.wait(lock_); }

  /// Releases the mutex until `changed` is notified or the time has come. False at that time.
  bool WaitUntil(std::condition_variable& changed, std::chrono::steady_clock::time_point time) {
    return changed.wait_until(lock_, time) == std::cv_status::no_timeout;
  }

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace tandem
