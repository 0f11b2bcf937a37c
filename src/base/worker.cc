#include "base/worker.h"

#include <pthread.h>

#include <algorithm>

namespace tandem {

Worker::Worker(std::string name) {
  if (Timeline* timeline = Timeline::Current()) track_ = &timeline->NamedTrack(name);
  thread_ = std::thread([this] { Run(); });
  name.resize(std::min<std::size_t>(name.size(), 15));
  pthread_setname_np(thread_.native_handle(), name.c_str());
}

Worker::~Worker() {
  tasks_.Close(std::make_exception_ptr(Stopped()));
  thread_.join();
}

std::future<void> Worker::Post(std::function<void()> task) {
  std::packaged_task<void()> packaged(std::move(task));
  std::future<void> done = packaged.get_future();
  tasks_.Push(std::move(packaged));
  return done;
}

void Worker::Run() {
  try {
    for (;;) {
      std::packaged_task<void()> task = tasks_.Pop();
      std::optional<Attach> attach;
      if (track_ != nullptr) attach.emplace(*track_);
      task();
    }
  } catch (const Stopped&) {
    // The worker is being destroyed.
  }
}

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
