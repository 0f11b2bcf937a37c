// A bounded queue between threads.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

namespace tandem {

/// Channel is a first-in-first-out queue of at most `capacity` items. Any number of threads may
/// push and pop.
///
/// Close wakes all waiting threads and drops the remaining items. From then on, every call throws
/// the reason.
template <class T>
class Channel {
 public:
  explicit Channel(std::size_t capacity) : capacity_(capacity) {}

  /// Waits while the channel is full. Throws the reason if the channel is closed.
  void Push(T item) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return closed_ || items_.size() < capacity_; });
      if (closed_) std::rethrow_exception(closed_);
      items_.push_back(std::move(item));
    }
    changed_.notify_all();
  }

  /// Waits while the channel is empty. Throws the reason if the channel is closed.
  T Pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closed_ || !items_.empty(); });
    return *Take(lock);
  }

  /// Returns nothing, without waiting, if the channel is empty. Throws the reason if it is closed.
  std::optional<T> TryPop() {
    std::unique_lock lock(mutex_);
    return Take(lock);
  }

  /// Closes the channel. Only the first call counts.
  void Close(std::exception_ptr reason) {
    {
      const std::lock_guard lock(mutex_);
      if (!closed_) closed_ = std::move(reason);
      items_.clear();
    }
    changed_.notify_all();
  }

 private:
  std::optional<T> Take(std::unique_lock<std::mutex>& lock) {
    if (closed_) std::rethrow_exception(closed_);
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    lock.unlock();
    changed_.notify_all();
    return item;
  }

  const std::size_t capacity_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<T> items_;        // guarded by mutex_
  std::exception_ptr closed_;  // guarded by mutex_
};

}  // namespace tandem
