// Ends the waits of other threads.
#pragma once

#include <exception>
#include <functional>
#include <list>
#include <mutex>
#include <utility>

namespace tandem {

/// Interrupter lets a thread end the waits of others, which a StopSignal cannot, because nobody
/// polls it while all wait. The owner of a queue registers a function that closes it. Thread-safe.
class Interrupter {
 public:
  using Close = std::function<void(std::exception_ptr)>;

  /// Registration withdraws a function when it is destroyed. Waits while the function runs.
  class Registration {
   public:
    Registration(Interrupter& owner, Close close) : owner_(owner) {
      const std::lock_guard lock(owner_.mutex_);
      place_ = owner_.closes_.insert(owner_.closes_.end(), std::move(close));
    }
    ~Registration() {
      const std::lock_guard lock(owner_.mutex_);
      owner_.closes_.erase(place_);
    }
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

   private:
    Interrupter& owner_;
    std::list<Close>::iterator place_;
  };

  /// Calls all registered functions with `reason`, which the waits then throw.
  void Interrupt(const std::exception_ptr& reason) {
    const std::lock_guard lock(mutex_);
    for (const Close& close : closes_) close(reason);
  }

 private:
  std::mutex mutex_;
  std::list<Close> closes_;  // guarded by mutex_
};

}  // namespace tandem
