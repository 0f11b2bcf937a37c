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

void DoubleBuffer::WriteSlot::GiveUp::operator()(DataBuffer* /*rows*/) const {
  try {
    owner->Close(std::make_exception_ptr(
        Error("the writer gave up its buffer before it was filled, so no more rows will come")));
  } catch (...) {
    owner->Close(std::current_exception());  // there is no memory for the message
  }
}

void DoubleBuffer::WriteSlot::Commit() {
  DoubleBuffer* const owner = rows_.get_deleter().owner;
  (void)rows_.release();
  owner->ring_.End(kWrite);
}

}  // namespace tandem
