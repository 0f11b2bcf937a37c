#include "shards/stages.h"

#include "base/timeline.h"

namespace tandem {

Stages::Stages(StageWork& work, StageDepths depths, std::int64_t first, std::int64_t epoch_steps)
    : work_(work),
      depths_(depths),
      steps_(depths.slots()),
      disk_(kDiskThread),
      transfer_(kTransferThread) {
  disk_.Post([this, first, epoch_steps] {
    try {
      LoadEpochs(first, epoch_steps);
    } catch (...) {
      Fail(disk_failed_);
    }
  });
  transfer_.Post([this] {
    try {
      TransferAll();
    } catch (...) {
      Fail(transfer_failed_);
    }
  });
}

Stages::~Stages() {
  {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
  }
  changed_.notify_all();
}

void Stages::LoadEpochs(std::int64_t first, std::int64_t epoch_steps) {
  for (std::int64_t step = first;;) {
    const std::int64_t epoch = step / epoch_steps;
    const Section section("epoch", epoch);
    for (; step < (epoch + 1) * epoch_steps; ++step) {
      if (!LoadNext(step)) return;
    }
  }
}

// False if nobody wants it any more.
bool Stages::LoadNext(std::int64_t step) {
  std::int64_t chunk = 0;
  const auto slots = static_cast<std::int64_t>(depths_.slots());
  const auto depth = static_cast<std::int64_t>(depths_.cpu);
  {
    const Span span(Phase::kWaitForRoom);
    const bool room = Await([&] {
      chunk = loaded_;
      return chunk - transferring_ < depth && chunk - released_ < slots;
    });
    if (!room) return false;
  }
  const auto slot = static_cast<std::size_t>(chunk % slots);
  if (!work_.Load(step, slot)) return true;
  {
    const std::lock_guard lock(mutex_);
    steps_[slot] = step;
    loaded_ = chunk + 1;
  }
  changed_.notify_all();
  return true;
}

void Stages::TransferAll() {
  for (std::int64_t chunk = 0;; ++chunk) {
    Chunk next;
    {
      const Span span(Phase::kWaitForRoom);
      const auto depth = static_cast<std::int64_t>(depths_.gpu);
      if (!Await([&] { return chunk - taken_ < depth; })) return;
    }
    {
      const Span span(Phase::kWaitForChunk);
      if (!Await([&] { return chunk < loaded_; })) return;
      const std::lock_guard lock(mutex_);
      next.slot = static_cast<std::size_t>(chunk) % depths_.slots();
      next.step = steps_[next.slot];
      transferring_ = chunk + 1;
    }
    changed_.notify_all();
    work_.Transfer(next.step, next.slot);
    {
      const std::lock_guard lock(mutex_);
      transferred_ = chunk + 1;
    }
    changed_.notify_all();
  }
}

Stages::Chunk Stages::Take() {
  const Span span(Phase::kGpuQueueWait);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] {
    const bool ended = transfer_failed_ || (disk_failed_ && transferred_ == loaded_);
    return taken_ < transferred_ || ended;
  });
  if (taken_ == transferred_) std::rethrow_exception(error_);
  const auto slot = static_cast<std::size_t>(taken_) % depths_.slots();
  const Chunk chunk{.step = steps_[slot], .slot = slot};
  ++taken_;
  lock.unlock();
  changed_.notify_all();
  return chunk;
}

void Stages::Release() {
  {
    const std::lock_guard lock(mutex_);
    ++released_;
  }
  changed_.notify_all();
}

// False if nobody wants more.
template <class Condition>
bool Stages::Await(const Condition& condition) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return cancelled_ || condition(); });
  return !cancelled_;
}

void Stages::Fail(bool& failed) {
  {
    const std::lock_guard lock(mutex_);
    failed = true;
    if (!error_) error_ = std::current_exception();
  }
  changed_.notify_all();
}

}  // namespace tandem
