#include "base/worker.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "base/stop_signal.h"

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

}  // namespace tandem
