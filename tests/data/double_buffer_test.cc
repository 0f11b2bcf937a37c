#include "data/double_buffer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <optional>
#include <thread>

#include "tandem/error.h"

namespace tandem {
namespace {

using std::chrono::milliseconds;

const Schema kNumbers{.columns = {{.name = "n", .type = ElementType::kFloat32, .width = 1}}};
constexpr std::size_t kRows = 64;

// Buffer k holds the numbers k * kRows, k * kRows + 1, ...
void WriteBuffers(DoubleBuffer& buffers, int count, milliseconds delay) {
  for (int k = 0; k < count; ++k) {
    DoubleBuffer::WriteSlot lease = buffers.AcquireWrite();
    std::this_thread::sleep_for(delay);
    const std::span<float> numbers = lease.rows().floats(0);
    std::iota(numbers.begin(), numbers.end(), static_cast<float>(k * kRows));
    lease.Publish();
  }
}

// Every row is read once, in order, and never half-written, whichever side is slower.
void CountEveryRow(milliseconds write_delay, milliseconds read_delay) {
  constexpr int kBuffers = 40;
  DoubleBuffer buffers(kNumbers, kRows);
  std::thread writer([&] { WriteBuffers(buffers, kBuffers, write_delay); });
  float expected = 0;
  for (int k = 0; k < kBuffers; ++k) {
    const DoubleBuffer::ReadSlot lease = buffers.AcquireRead();
    std::this_thread::sleep_for(read_delay);
    for (const float number : lease.rows().floats(0)) ASSERT_EQ(number, expected++);
  }
  writer.join();
  EXPECT_EQ(expected, kBuffers * kRows);
}

TEST(DoubleBuffer, CountsEveryRowWithASlowReader) {
  CountEveryRow(milliseconds(0), milliseconds(2));
}
TEST(DoubleBuffer, CountsEveryRowWithASlowWriter) {
  CountEveryRow(milliseconds(2), milliseconds(0));
}
TEST(DoubleBuffer, CountsEveryRowAtFullSpeed) { CountEveryRow(milliseconds(0), milliseconds(0)); }

TEST(DoubleBuffer, TheWriterWaitsForAnEmptySlot) {
  DoubleBuffer buffers(kNumbers, kRows);
  WriteBuffers(buffers, 2, milliseconds(0));
  std::atomic<bool> third_written{false};
  std::thread writer([&] {
    WriteBuffers(buffers, 1, milliseconds(0));
    third_written = true;
  });
  {
    const DoubleBuffer::ReadSlot lease = buffers.AcquireRead();
    std::this_thread::sleep_for(milliseconds(30));
    EXPECT_FALSE(third_written);  // one slot is full and one is being read
  }
  writer.join();
  EXPECT_TRUE(third_written);
}

TEST(DoubleBuffer, CloseWakesAWaitingReaderWithTheReason) {
  DoubleBuffer buffers(kNumbers, kRows);
  std::thread closer([&] {
    std::this_thread::sleep_for(milliseconds(10));
    buffers.Close(std::make_exception_ptr(Error("the simulator broke")));
    buffers.Close(std::make_exception_ptr(Error("a second reason does not count")));
  });
  try {
    buffers.AcquireRead();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the simulator broke");
  }
  EXPECT_THROW(buffers.AcquireWrite(), Error);
  closer.join();
}

TEST(DoubleBuffer, CloseWakesAWaitingWriterWithTheReason) {
  DoubleBuffer buffers(kNumbers, kRows);
  WriteBuffers(buffers, 2, milliseconds(0));
  std::thread closer([&] {
    std::this_thread::sleep_for(milliseconds(10));
    buffers.Close(std::make_exception_ptr(Error("the loss is not finite")));
  });
  try {
    buffers.AcquireWrite();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the loss is not finite");
  }
  closer.join();
}

TEST(DoubleBuffer, AForgottenHandOverIsAnErrorOnTheOtherSide) {
  DoubleBuffer buffers(kNumbers, kRows);
  { const DoubleBuffer::WriteSlot forgotten = buffers.AcquireWrite(); }
  EXPECT_THROW(buffers.AcquireRead(), Error);
}

TEST(DoubleBuffer, AMovedWriteSlotIsNotDroppedTwice) {
  DoubleBuffer buffers(kNumbers, kRows);
  {
    DoubleBuffer::WriteSlot first = buffers.AcquireWrite();
    DoubleBuffer::WriteSlot moved = std::move(first);
    moved.Publish();
  }
  EXPECT_EQ(buffers.AcquireRead().rows().rows(), kRows);  // it is not closed
}

TEST(DoubleBuffer, AMovedReadSlotIsNotReleasedTwice) {
  DoubleBuffer buffers(kNumbers, kRows);
  WriteBuffers(buffers, 2, milliseconds(0));
  std::optional<DoubleBuffer::ReadSlot> first(buffers.AcquireRead());
  { const DoubleBuffer::ReadSlot moved = std::move(*first); }
  WriteBuffers(buffers, 1, milliseconds(0));  // into the slot that was read
  first.reset();
  buffers.AcquireRead();
  EXPECT_EQ(buffers.AcquireRead().rows().rows(), kRows);  // it is still full
}

TEST(DoubleBuffer, NoBufferIsReadTwiceAtATime) {
  DoubleBuffer buffers(kNumbers, kRows);
  WriteBuffers(buffers, 2, milliseconds(0));
  const DoubleBuffer::ReadSlot first = buffers.AcquireRead();
  const DoubleBuffer::ReadSlot second = buffers.AcquireRead();
  std::thread closer([&] {
    std::this_thread::sleep_for(milliseconds(20));
    buffers.Close(std::make_exception_ptr(Error("enough")));
  });
  EXPECT_THROW(buffers.AcquireRead(), Error);  // waits for a third, and not for one of these
  closer.join();
}

}  // namespace
}  // namespace tandem
