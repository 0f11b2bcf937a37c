// Two buffers shared by one writer and one reader.
#pragma once

#include <array>
#include <exception>
#include <memory>
#include <utility>

#include "base/slot_ring.h"
#include "data/data_buffer.h"
#include "tandem/error.h"

namespace tandem {

/// DoubleBuffer lets one writer fill a buffer while one reader drains the other.
///
/// Buffers are read in the order in which they were written. The writer waits until a buffer is
/// empty, and the reader until one is full. If a WriteSlot, the right to write a buffer, is
/// destroyed before Commit, the DoubleBuffer closes with an error, so a forgotten hand-over is an
/// exception on the other side and never a deadlock.
///
/// One writer thread and one reader thread; Close from any.
class DoubleBuffer {
 public:
  class WriteSlot;
  class ReadSlot;

  /// Takes turns with these two buffers, which have the same columns and as many rows.
  DoubleBuffer(DataBuffer first, DataBuffer second)
      : buffers_{std::move(first), std::move(second)}, ring_(buffers_.size(), /*stages=*/2) {}

  /// Waits until the next buffer is empty. Throws the reason if the DoubleBuffer is closed.
  WriteSlot AcquireWrite();

  /// Waits until the next buffer is full. Throws the reason if the DoubleBuffer is closed. Buffers
  /// are given back in the order in which they were acquired.
  ReadSlot AcquireRead();

  /// Wakes both sides; from now on both Acquire methods throw `reason`. Only the first call counts.
  /// Slots that are held stay usable.
  void Close(std::exception_ptr reason) { ring_.Close(std::move(reason)); }

 private:
  // The stages of the ring.
  static constexpr std::size_t kWrite = 0;
  static constexpr std::size_t kRead = 1;

  std::array<DataBuffer, 2> buffers_;
  SlotRing ring_;
};

/// WriteSlot is the right to write one buffer. Move-only.
class DoubleBuffer::WriteSlot {
 public:
  DataBuffer& rows() const { return *rows_; }

  /// Hands the buffer to the reader; rows() may not be used afterwards.
  void Commit() {
    DoubleBuffer* const owner = rows_.get_deleter().owner;
    (void)rows_.release();
    owner->ring_.End(kWrite);
  }

 private:
  friend class DoubleBuffer;
  struct GiveUp {
    DoubleBuffer* owner;
    void operator()(DataBuffer* /*rows*/) const {
      try {
        owner->Close(std::make_exception_ptr(Error(
            "the writer gave up its buffer before it was filled, so no more rows will come")));
      } catch (...) {
        owner->Close(std::current_exception());  // there is no memory for the message
      }
    }
  };
  WriteSlot(DoubleBuffer& owner, DataBuffer& rows) : rows_(&rows, {&owner}) {}

  std::unique_ptr<DataBuffer, GiveUp> rows_;  // null once committed or moved from
};

/// ReadSlot is the right to read one buffer. Move-only; its destructor gives the buffer back.
class DoubleBuffer::ReadSlot {
 public:
  const DataBuffer& rows() const { return *rows_; }

 private:
  friend class DoubleBuffer;
  struct GiveBack {
    DoubleBuffer* owner;
    void operator()(const DataBuffer* /*rows*/) const { owner->ring_.End(kRead); }
  };
  ReadSlot(DoubleBuffer& owner, DataBuffer& rows) : rows_(&rows, {&owner}) {}

  std::unique_ptr<const DataBuffer, GiveBack> rows_;  // null once moved from
};

inline DoubleBuffer::WriteSlot DoubleBuffer::AcquireWrite() {
  return {*this, buffers_[ring_.SlotOf(ring_.Begin(kWrite))]};
}

inline DoubleBuffer::ReadSlot DoubleBuffer::AcquireRead() {
  return {*this, buffers_[ring_.SlotOf(ring_.Begin(kRead))]};
}

}  // namespace tandem
