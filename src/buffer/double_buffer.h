// Two DataBuffers that a writer and a reader take turns with.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>

#include "buffer/data_buffer.h"

namespace tandem {

/// Buffer k lies in slot k % 2. A slot goes through
///
///     empty --AcquireWrite--> writing --Publish--> full --AcquireRead--> reading --~ReadLease-->
///     empty
///
/// and a lease, which only one owner can hold, makes each transition: the writer waits until a slot
/// is empty (back-pressure), the reader until one is full, and buffers are read in the order they
/// were written. A write lease that is dropped before Publish closes the pair with an error, so
/// that a forgotten hand-over is an exception on the other side and never a deadlock.
///
/// One writer thread and one reader thread; Close from any.
class DoubleBuffer {
 public:
  class WriteLease;
  class ReadLease;

  /// Two buffers of `rows` rows on the heap.
  DoubleBuffer(const Schema& schema, std::size_t rows);

  /// Waits until the next slot is empty. Throws what the pair was closed with.
  WriteLease AcquireWrite();

  /// Waits until the next buffer is full. Throws what the pair was closed with.
  ReadLease AcquireRead();

  /// Wakes both sides; from now on both Acquire methods throw `reason`. The first call counts.
  /// Leases that are held stay usable.
  void Close(std::exception_ptr reason);

 private:
  enum class State : std::uint8_t { kEmpty, kWriting, kFull, kReading };

  struct Slot {
    DataBuffer rows;
    State state = State::kEmpty;
  };

  DataBuffer& Acquire(std::uint64_t& next, State from, State to);
  void Release(DataBuffer& rows, State to);

  std::array<Slot, 2> slots_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // All below, and Slot::state, guarded by mutex_.
  std::uint64_t next_write_ = 0;
  std::uint64_t next_read_ = 0;
  std::exception_ptr closed_;
};

/// The right to write one buffer. Move-only.
class DoubleBuffer::WriteLease {
 public:
  WriteLease(WriteLease&& other) noexcept;
  WriteLease& operator=(WriteLease&&) = delete;
  ~WriteLease();

  DataBuffer& rows() const { return *rows_; }

  /// Hands the buffer to the reader; the lease is then spent.
  void Publish();

 private:
  friend class DoubleBuffer;
  WriteLease(DoubleBuffer& owner, DataBuffer& rows) : owner_(&owner), rows_(&rows) {}

  DoubleBuffer* owner_;
  DataBuffer* rows_;  // null once spent
};

/// The right to read one buffer. Move-only; ends with its life, which gives the slot back.
class DoubleBuffer::ReadLease {
 public:
  ReadLease(ReadLease&& other) noexcept;
  ReadLease& operator=(ReadLease&&) = delete;
  ~ReadLease();

  const DataBuffer& rows() const { return *rows_; }

 private:
  friend class DoubleBuffer;
  ReadLease(DoubleBuffer& owner, DataBuffer& rows) : owner_(&owner), rows_(&rows) {}

  DoubleBuffer* owner_;
  DataBuffer* rows_;  // null once moved from
};

}  // namespace tandem
