#include "base/slot_ring.h"

#include <utility>

namespace tandem {

SlotRing::SlotRing(std::size_t slots, std::size_t stages, std::vector<std::size_t> depths)
    : slots_(slots), stages_(stages) {
  for (std::size_t i = 0; i < depths.size(); ++i) stages_[i].depth = depths[i];
}

std::int64_t SlotRing::Begin(std::size_t stage) {
  MutexLock lock(mutex_);
  while (!IsOver(stage) && !(HasArrived(stage) && HasRoom(stage))) lock.Wait(changed_);
  if (IsOver(stage)) std::rethrow_exception(reason_);
  changed_.notify_all();
  return stages_[stage].begun++;
}

void SlotRing::AwaitRoom(std::size_t stage) {
  MutexLock lock(mutex_);
  while (!IsOver(stage) && !(HasRoom(stage) && (stage > 0 || HasArrived(stage)))) {
    lock.Wait(changed_);
  }
  if (IsOver(stage)) std::rethrow_exception(reason_);
}

// Whether there will be no more items for a stage.
bool SlotRing::IsOver(std::size_t stage) const {
  if (closed_) return true;
  if (stage == 0) return reason_ != nullptr;
  return !HasArrived(stage) && !WillEndMore(stage - 1);
}

// Whether the slot of the next item has come to a stage.
bool SlotRing::HasArrived(std::size_t stage) const {
  const std::int64_t next = stages_[stage].begun;
  if (stage > 0) return next < stages_[stage - 1].ended;
  return next < stages_.back().ended + static_cast<std::int64_t>(slots_);
}

// Whether a stage is not too far ahead of the next one.
bool SlotRing::HasRoom(std::size_t stage) const {
  const Stage& self = stages_[stage];
  if (self.depth == 0) return true;
  return self.begun - stages_[stage + 1].begun < static_cast<std::int64_t>(self.depth);
}

// Whether a stage may still end an item that the next one has not begun.
bool SlotRing::WillEndMore(std::size_t stage) const {
  const Stage& self = stages_[stage];
  if (self.failed) return false;
  if (stage == 0) return reason_ == nullptr || self.ended < self.begun;
  return self.ended < stages_[stage - 1].ended || WillEndMore(stage - 1);
}

void SlotRing::End(std::size_t stage) {
  const MutexLock lock(mutex_);
  ++stages_[stage].ended;
  changed_.notify_all();
}

void SlotRing::AwaitEnd(std::size_t stage, std::int64_t item) {
  MutexLock lock(mutex_);
  const Stage& self = stages_[stage];
  while (!closed_ && self.ended <= item && WillEndMore(stage)) lock.Wait(changed_);
  if (closed_ || self.ended <= item) std::rethrow_exception(reason_);
}

void SlotRing::Fail(std::size_t stage, std::exception_ptr reason) {
  const MutexLock lock(mutex_);
  stages_[stage].failed = true;
  if (!reason_) reason_ = std::move(reason);
  changed_.notify_all();
}

void SlotRing::Close(std::exception_ptr reason) {
  const MutexLock lock(mutex_);
  closed_ = true;
  if (!reason_) reason_ = std::move(reason);
  changed_.notify_all();
}

}  // namespace tandem
