#include "data/double_buffer.h"

#include <utility>

#include "tandem/error.h"

namespace tandem {

DoubleBuffer::DoubleBuffer(DataBuffer first, DataBuffer second)
    : buffers_{std::move(first), std::move(second)}, ring_(buffers_.size(), /*stages=*/2) {}

DoubleBuffer::WriteSlot DoubleBuffer::AcquireWrite() {
  return {*this, buffers_[ring_.SlotOf(ring_.Begin(kWrite))]};
}

DoubleBuffer::ReadSlot DoubleBuffer::AcquireRead() {
  return {*this, buffers_[ring_.SlotOf(ring_.Begin(kRead))]};
}

void DoubleBuffer::Close(std::exception_ptr reason) { ring_.Close(std::move(reason)); }

DoubleBuffer::WriteSlot::WriteSlot(WriteSlot&& other) noexcept
    : owner_(other.owner_), rows_(std::exchange(other.rows_, nullptr)) {}

DoubleBuffer::WriteSlot::~WriteSlot() {
  if (rows_ == nullptr) return;
  try {
    owner_->Close(std::make_exception_ptr(
        Error("the writer gave up its buffer before it was filled, so no more rows will come")));
  } catch (...) {
    owner_->Close(std::current_exception());  // there is no memory for the message
  }
}

void DoubleBuffer::WriteSlot::Commit() {
  rows_ = nullptr;
  owner_->ring_.End(kWrite);
}

DoubleBuffer::ReadSlot::ReadSlot(ReadSlot&& other) noexcept
    : owner_(other.owner_), rows_(std::exchange(other.rows_, nullptr)) {}

DoubleBuffer::ReadSlot::~ReadSlot() {
  if (rows_ != nullptr) owner_->ring_.End(kRead);
}

}  // namespace tandem
