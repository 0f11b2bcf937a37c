#include "data/double_buffer.h"

#include <utility>

#include "tandem/error.h"

namespace tandem {

DoubleBuffer::DoubleBuffer(const Schema& schema, std::size_t rows)
    : buffers_{DataBuffer(schema, rows), DataBuffer(schema, rows)},
      ring_(buffers_.size(), /*stages=*/2) {}

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
  owner_->Close(std::make_exception_ptr(
      Error("the writer gave up its buffer before it was filled, so no more rows will come")));
}

void DoubleBuffer::WriteSlot::Publish() {
  rows_ = nullptr;
  owner_->ring_.End(kWrite);
}

DoubleBuffer::ReadSlot::ReadSlot(ReadSlot&& other) noexcept
    : owner_(other.owner_), rows_(std::exchange(other.rows_, nullptr)) {}

DoubleBuffer::ReadSlot::~ReadSlot() {
  if (rows_ != nullptr) owner_->ring_.End(kRead);
}

}  // namespace tandem
