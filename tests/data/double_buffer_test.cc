#include "data/double_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <latch>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <thread>

#include "support/wait.h"
#include "tandem/error.h"

namespace tandem {
namespace {

const Schema kNumbers{.columns = {{.name = "n", .type = ElementType::kFloat32, .width = 1}}};
constexpr std::size_t kRows = 64;

// Buffer k holds the numbers k * kRows, k * kRows + 1, ... Calls before(k) while it holds the slot
// of buffer k, before it writes.
void WriteBuffers(
    DoubleBuffer& buffers, int count, const std::function<void(int)>& before = [](int) {}) {
  for (int k = 0; k < count; ++k) {
    DoubleBuffer::WriteSlot lease = buffers.AcquireWrite();
    before(k);
    const std::span<float> numbers = lease.rows().floats(0);
    std::iota(numbers.begin(), numbers.end(), static_cast<float>(k * kRows));
    lease.Commit();
  }
}

DoubleBuffer TwoBuffers(const Schema& schema, std::size_t rows) {
  return {DataBuffer(schema, rows), DataBuffer(schema, rows)};
}

enum class Slower { kNone, kReader, kWriter };

// Every row is read once, in order, and never half-written, whichever side is slower. A slow side
// waits until the other side can do no more.
void CountEveryRow(Slower slower) {
  constexpr int kBuffers = 40;
  DoubleBuffer buffers = TwoBuffers(kNumbers, kRows);
  std::atomic<int> writing{-1};  // the last buffer that the writer has begun
  std::atomic<int> read{0};
  std::thread writer([&] {
    WriteBuffers(buffers, kBuffers, [&](int k) {
      writing = k;
      if (slower == Slower::kWriter) WaitUntil([&] { return read == k; });
    });
  });
  float expected = 0;
  for (int k = 0; k < kBuffers; ++k) {
    {
      const DoubleBuffer::ReadSlot lease = buffers.AcquireRead();
      if (slower == Slower::kReader) {
        WaitUntil([&] { return writing == std::min(k + 1, kBuffers - 1); });
      }
      for (const float number : lease.rows().floats(0)) ASSERT_EQ(number, expected++);
    }
    ++read;
  }
  writer.join();
  EXPECT_EQ(expected, kBuffers * kRows);
}

TEST(DoubleBuffer, CountsEveryRowWithASlowReader) { CountEveryRow(Slower::kReader); }
TEST(DoubleBuffer, CountsEveryRowWithASlowWriter) { CountEveryRow(Slower::kWriter); }
TEST(DoubleBuffer, CountsEveryRowAtFullSpeed) { CountEveryRow(Slower::kNone); }

const Schema kStamped{.columns = {{.name = "n", .type = ElementType::kFloat32, .width = 1},
                                  {.name = "stamp", .type = ElementType::kUint8, .width = 40}}};

// The bytes of row `n`, so that a row whose parts come from two buffers is detected.
std::uint8_t StampOf(int n) { return static_cast<std::uint8_t>((n * 37 + n / 251) % 256); }

// Gives up the core up to 30 times: most waits are short, and some are long enough for the other
// side to wait.
class RandomDelay {
 public:
  explicit RandomDelay(unsigned seed) : random_(seed) {}

  void operator()() {
    const unsigned draw = random_() % 1000;
    const unsigned yields = draw < 700 ? 0 : draw < 990 ? draw % 5 : draw % 30;
    for (unsigned i = 0; i < yields; ++i) std::this_thread::yield();
  }

 private:
  std::mt19937 random_;
};

// The thread sanitizer runs this test too.
TEST(DoubleBuffer, TenThousandSwapsWithRandomDelaysKeepEveryRowWhole) {
  constexpr int kSwaps = 10'000;
  constexpr int kRowsPerSwap = 8;
  DoubleBuffer buffers = TwoBuffers(kStamped, kRowsPerSwap);
  const auto write_all = [&] {
    RandomDelay delay(1);
    for (int k = 0; k < kSwaps; ++k) {
      DoubleBuffer::WriteSlot slot = buffers.AcquireWrite();
      for (int i = 0; i < kRowsPerSwap; ++i) {
        const int n = k * kRowsPerSwap + i;
        slot.rows().floats(0)[static_cast<std::size_t>(i)] = static_cast<float>(n);
        if (i == kRowsPerSwap / 2) delay();
        std::ranges::fill(slot.rows().column(1)[static_cast<std::size_t>(i)], StampOf(n));
      }
      delay();
      slot.Commit();
    }
  };
  std::thread writer([&] {
    try {
      write_all();
    } catch (const Error&) {  // the reader has found a wrong row and given up
    }
  });
  RandomDelay delay(2);
  int next = 0;
  for (int k = 0; k < kSwaps; ++k) {
    const DoubleBuffer::ReadSlot slot = buffers.AcquireRead();
    delay();
    for (std::size_t i = 0; i < kRowsPerSwap; ++i, ++next) {
      EXPECT_EQ(slot.rows().floats(0)[i], static_cast<float>(next));
      const std::span<const std::uint8_t> stamp = slot.rows().column(1)[i];
      EXPECT_EQ(std::ranges::count(stamp, StampOf(next)), std::ssize(stamp)) << "row " << next;
    }
    if (testing::Test::HasFailure()) break;
  }
  buffers.Close(std::make_exception_ptr(Error("the reader has ended")));
  writer.join();
  EXPECT_EQ(next, kSwaps * kRowsPerSwap);
}

TEST(DoubleBuffer, TheWriterWaitsForAnEmptySlot) {
  DoubleBuffer buffers = TwoBuffers(kNumbers, kRows);
  WriteBuffers(buffers, 2);
  std::latch started(1);
  std::atomic<bool> released{false};
  std::optional<DoubleBuffer::ReadSlot> first(buffers.AcquireRead());
  // One slot is full and one is being read, so the writer gets none until the reader returns one.
  std::thread writer([&] {
    started.count_down();
    WriteBuffers(buffers, 1, [&](int) { EXPECT_TRUE(released); });
  });
  started.wait();
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();  // time for a writer that does not wait
  released = true;
  first.reset();
  writer.join();
}

TEST(DoubleBuffer, CloseWakesAWaitingReaderWithTheReason) {
  DoubleBuffer buffers = TwoBuffers(kNumbers, kRows);
  std::latch waiting(1);
  std::thread closer([&] {
    waiting.wait();
    buffers.Close(std::make_exception_ptr(Error("the simulator broke")));
    buffers.Close(std::make_exception_ptr(Error("a second reason does not count")));
  });
  try {
    waiting.count_down();
    buffers.AcquireRead();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the simulator broke");
  }
  EXPECT_THROW(buffers.AcquireWrite(), Error);
  closer.join();
}

TEST(DoubleBuffer, CloseWakesAWaitingWriterWithTheReason) {
  DoubleBuffer buffers = TwoBuffers(kNumbers, kRows);
  WriteBuffers(buffers, 2);
  std::latch waiting(1);
  std::thread closer([&] {
    waiting.wait();
    buffers.Close(std::make_exception_ptr(Error("the loss is not finite")));
  });
  try {
    waiting.count_down();
    buffers.AcquireWrite();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the loss is not finite");
  }
  closer.join();
}

TEST(DoubleBuffer, AForgottenHandOverIsAnErrorOnTheOtherSide) {
  DoubleBuffer buffers = TwoBuffers(kNumbers, kRows);
  { const DoubleBuffer::WriteSlot forgotten = buffers.AcquireWrite(); }
  EXPECT_THROW(buffers.AcquireRead(), Error);
}

TEST(DoubleBuffer, AMovedWriteSlotIsNotDroppedTwice) {
  DoubleBuffer buffers = TwoBuffers(kNumbers, kRows);
  {
    DoubleBuffer::WriteSlot first = buffers.AcquireWrite();
    DoubleBuffer::WriteSlot moved = std::move(first);
    moved.Commit();
  }
  EXPECT_EQ(buffers.AcquireRead().rows().rows(), kRows);  // it is not closed
}

TEST(DoubleBuffer, AMovedReadSlotIsNotReleasedTwice) {
  DoubleBuffer buffers = TwoBuffers(kNumbers, kRows);
  WriteBuffers(buffers, 2);
  std::optional<DoubleBuffer::ReadSlot> first(buffers.AcquireRead());
  { const DoubleBuffer::ReadSlot moved = std::move(*first); }
  WriteBuffers(buffers, 1);  // into the slot that was read
  first.reset();
  buffers.AcquireRead();
  EXPECT_EQ(buffers.AcquireRead().rows().rows(), kRows);  // it is still full
}

TEST(DoubleBuffer, NoBufferIsReadTwiceAtATime) {
  DoubleBuffer buffers = TwoBuffers(kNumbers, kRows);
  WriteBuffers(buffers, 2);
  const DoubleBuffer::ReadSlot first = buffers.AcquireRead();
  const DoubleBuffer::ReadSlot second = buffers.AcquireRead();
  std::latch waiting(1);
  std::thread closer([&] {
    waiting.wait();
    buffers.Close(std::make_exception_ptr(Error("enough")));
  });
  waiting.count_down();
  EXPECT_THROW(buffers.AcquireRead(), Error);  // waits for a third, and not for one of these
  closer.join();
}

}  // namespace
}  // namespace tandem
