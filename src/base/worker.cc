#include "base/worker.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

namespace tandem {

Worker::Worker(std::string name) {
  if (Timeline* timeline = Timeline::Current()) track_ = &timeline->NamedTrack(name);
  thread_ = std::thread([this] { Run(); });
  name.resize(std::min<std::size_t>(name.size(), 15));
  pthread_setname_np(thread_.native_handle(), name.c_str());
}

Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Worker::Post(std::function<void()> task) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !next_; });
    next_ = std::move(task);
  }
  changed_.notify_all();
}

void Worker::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || next_; });
    if (ending_) return;
    const std::function<void()> task = std::exchange(next_, nullptr);
    lock.unlock();
    changed_.notify_all();
    Do(task);
    lock.lock();
  }
}

void Worker::Do(const std::function<void()>& task) const {
  if (track_ == nullptr) return task();
  const Attach attach(*track_);
  task();
}

}  // namespace tandem
