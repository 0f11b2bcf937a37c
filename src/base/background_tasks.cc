#include "base/background_tasks.h"

#include <utility>

namespace tandem {

void BackgroundTasks::Post(std::function<void()> task) {
  constexpr std::int64_t kMost = 2;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return posted_ - ended_ < kMost; });
  }
  worker_.Post([this, task = std::move(task)] { Run(task); });
  ++posted_;  // not before, because Post may fail
}

void BackgroundTasks::Run(const std::function<void()>& task) {
  std::exception_ptr failure;
  try {
    task();
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure && interrupter_ != nullptr) interrupter_->Interrupt(failure);
  {
    const std::lock_guard lock(mutex_);
    ++ended_;
    if (failure && !failure_) {
      failure_ = failure;
      failed_.store(true, std::memory_order_release);
    }
  }
  changed_.notify_all();
}

void BackgroundTasks::Wait() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ended_ == posted_; });
}

void BackgroundTasks::ThrowFailure() {
  if (!failed()) return;
  std::exception_ptr failure;
  {
    const std::lock_guard lock(mutex_);
    failure = std::exchange(failure_, nullptr);
    failed_.store(false, std::memory_order_release);
  }
  std::rethrow_exception(failure);
}

}  // namespace tandem
