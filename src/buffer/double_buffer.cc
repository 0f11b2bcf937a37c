#include "buffer/double_buffer.h"

#include <utility>

#include "tandem/error.h"

namespace tandem {

DoubleBuffer::DoubleBuffer(const Schema& schema, std::size_t rows)
    : slots_{Slot{DataBuffer(schema, rows)}, Slot{DataBuffer(schema, rows)}} {}

DataBuffer& DoubleBuffer::Acquire(std::uint64_t& next, State from, State to) {
  std::unique_lock lock(mutex_);
  Slot& slot = slots_[next % slots_.size()];
  changed_.wait(lock, [&] { return closed_ || slot.state == from; });
  if (closed_) std::rethrow_exception(closed_);
  slot.state = to;
  ++next;
  return slot.rows;
}

void DoubleBuffer::Release(DataBuffer& rows, State to) {
  {
    const std::lock_guard lock(mutex_);
    for (Slot& slot : slots_) {
      if (&slot.rows == &rows) slot.state = to;
    }
  }
  changed_.notify_all();
}

DoubleBuffer::WriteLease DoubleBuffer::AcquireWrite() {
  return {*this, Acquire(next_write_, State::kEmpty, State::kWriting)};
}

DoubleBuffer::ReadLease DoubleBuffer::AcquireRead() {
  return {*this, Acquire(next_read_, State::kFull, State::kReading)};
}

void DoubleBuffer::Close(std::exception_ptr reason) {
  {
    const std::lock_guard lock(mutex_);
    if (!closed_) closed_ = std::move(reason);
  }
  changed_.notify_all();
}

DoubleBuffer::WriteLease::WriteLease(WriteLease&& other) noexcept
    : owner_(other.owner_), rows_(std::exchange(other.rows_, nullptr)) {}

DoubleBuffer::WriteLease::~WriteLease() {
  if (rows_ == nullptr) return;
  owner_->Close(std::make_exception_ptr(
      Error("the writer gave up its buffer before it was filled, so no more rows will come")));
}

void DoubleBuffer::WriteLease::Publish() {
  owner_->Release(*std::exchange(rows_, nullptr), State::kFull);
}

DoubleBuffer::ReadLease::ReadLease(ReadLease&& other) noexcept
    : owner_(other.owner_), rows_(std::exchange(other.rows_, nullptr)) {}

DoubleBuffer::ReadLease::~ReadLease() {
  if (rows_ != nullptr) owner_->Release(*rows_, State::kEmpty);
}

}  // namespace tandem
