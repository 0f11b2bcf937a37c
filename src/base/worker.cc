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
  if (before_last_.valid()) {
    const Span span(Activity::kWaitForDisk);
    before_last_.wait();
  }
  before_last_ = std::exchange(last_, worker_.Post([this, task = std::move(task)] { Run(task); }));
}

void BackgroundTasks::Run(const std::function<void()>& task) {
  try {
    task();
  } catch (...) {
    const std::exception_ptr failure = std::current_exception();
    if (interrupter_ != nullptr) interrupter_->Interrupt(failure);
    if (failed()) return;
    failure_ = failure;
    failed_.store(true, std::memory_order_release);
  }
}

void BackgroundTasks::ThrowFailure() {
  if (!failed()) return;
  const std::exception_ptr failure = std::exchange(failure_, nullptr);
  failed_.store(false, std::memory_order_release);
  std::rethrow_exception(failure);
}

}  // namespace tandem
