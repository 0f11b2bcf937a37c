#include "base/trace_log.h"

#include <memory>

namespace tandem {

TraceLog::~TraceLog() {
  for (Block* block = first_.load(); block != nullptr;) {
    const std::unique_ptr<Block> gone(block);
    block = gone->next.load();
  }
}

void TraceLog::Append(const TraceEvent& event) {
  if (last_ == nullptr || last_->size.load(std::memory_order_relaxed) == last_->events.size()) {
    std::atomic<Block*>& link = last_ == nullptr ? first_ : last_->next;
    last_ = std::make_unique<Block>().release();
    link.store(last_, std::memory_order_release);
  }
  const std::size_t size = last_->size.load(std::memory_order_relaxed);
  last_->events[size] = event;
  last_->size.store(size + 1, std::memory_order_release);
}

std::vector<TraceEvent> TraceLog::Events() const {
  std::vector<TraceEvent> all;
  for (const Block* block = first_.load(std::memory_order_acquire); block != nullptr;) {
    // Read `next` before `size`: if there is a next block, this one is full and no event is missed.
    const Block* next = block->next.load(std::memory_order_acquire);
    const auto size = static_cast<std::ptrdiff_t>(block->size.load(std::memory_order_acquire));
    all.insert(all.end(), block->events.begin(), block->events.begin() + size);
    block = next;
  }
  return all;
}

}  // namespace tandem
