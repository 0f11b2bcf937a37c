#include <gtest/gtest.h>

#include <future>
#include <memory>

#include "base/slot_ring.h"
#include "base/worker.h"
#include "tandem/error.h"

namespace tandem {
namespace {

std::exception_ptr Reason(const char* text) { return std::make_exception_ptr(Error(text)); }

template <class Call>
std::string MessageOf(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Channel, HandsOverEveryItemInOrder) {
  Channel<std::unique_ptr<int>> channel(3);
  auto producer = std::async(std::launch::async, [&] {
    for (int i = 0; i < 1000; ++i) channel.Push(std::make_unique<int>(i));
  });
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(*channel.Pop(), i);
  producer.get();
  EXPECT_EQ(channel.TryPop(), std::nullopt);
}

TEST(Channel, PushWaitsWhileItIsFull) {
  Channel<int> channel(1);
  channel.Push(1);
  auto second = std::async(std::launch::async, [&] { channel.Push(2); });
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  EXPECT_EQ(channel.Pop(), 1);
  second.get();
  EXPECT_EQ(channel.TryPop(), 2);
}

TEST(Channel, CloseWakesBothSidesWithTheFirstReason) {
  Channel<int> empty(1), full(1);
  full.Push(1);
  auto pops = std::async(std::launch::async, [&] { return MessageOf([&] { empty.Pop(); }); });
  auto pushes = std::async(std::launch::async, [&] { return MessageOf([&] { full.Push(2); }); });
  EXPECT_EQ(pops.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  EXPECT_EQ(pushes.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  empty.Close(Reason("first"));
  empty.Close(Reason("second"));
  full.Close(Reason("first"));
  EXPECT_EQ(pops.get(), "first");
  EXPECT_EQ(pushes.get(), "first");
}

TEST(Channel, ClosingDropsWhatNobodyHasPopped) {
  Channel<int> channel(2);
  channel.Push(1);
  channel.Close(Reason("closed"));
  EXPECT_EQ(MessageOf([&] { channel.TryPop(); }), "closed");
}

TEST(SlotRing, PassesEveryItemThroughEveryStageInOrder) {
  constexpr std::size_t kSlots = 3;
  constexpr int kItems = 2000;
  SlotRing ring(kSlots, /*stages=*/3);
  std::array<int, kSlots> memory{};
  const auto run = [&](std::size_t stage, int from, int to) {
    for (int n = 0; n < kItems; ++n) {
      const std::int64_t item = ring.Begin(stage);
      ASSERT_EQ(item, n);
      int& value = memory[ring.SlotOf(item)];
      if (stage > 0) {
        ASSERT_EQ(value, from * n);
      }
      value = to * n;
      ring.End(stage);
    }
  };
  auto first = std::async(std::launch::async, [&] { run(0, 0, 2); });
  auto second = std::async(std::launch::async, [&] { run(1, 2, 3); });
  run(2, 3, 0);
  first.get();
  second.get();
}

TEST(SlotRing, AStageGoesNoFurtherAheadThanItsDepth) {
  SlotRing ring(/*slots=*/5, /*stages=*/2, {2});
  EXPECT_EQ(ring.Begin(0), 0);
  ring.End(0);
  EXPECT_EQ(ring.Begin(0), 1);
  ring.End(0);
  auto third = std::async(std::launch::async, [&] { return ring.Begin(0); });
  EXPECT_EQ(third.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  EXPECT_EQ(ring.Begin(1), 0);  // makes room, although it is not ended
  EXPECT_EQ(third.get(), 2);
}

TEST(SlotRing, TheFirstStageWaitsUntilASlotIsGivenBack) {
  SlotRing ring(/*slots=*/1, /*stages=*/2);
  ring.Begin(0);
  ring.End(0);
  ring.Begin(1);
  auto next = std::async(std::launch::async, [&] { return ring.Begin(0); });
  EXPECT_EQ(next.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  ring.End(1);
  EXPECT_EQ(next.get(), 1);
}

TEST(SlotRing, LaterStagesGetWhatAFailedStageHadEnded) {
  SlotRing ring(/*slots=*/4, /*stages=*/3);
  for (int i = 0; i < 2; ++i) {
    ring.Begin(0);
    ring.End(0);
  }
  ring.Begin(0);
  ring.Fail(0, Reason("the disk is gone"));
  EXPECT_EQ(MessageOf([&] { ring.Begin(0); }), "the disk is gone");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(ring.Begin(1), i);
    ring.End(1);
  }
  EXPECT_EQ(MessageOf([&] { ring.Begin(1); }), "the disk is gone");
  EXPECT_EQ(ring.Begin(2), 0);
  EXPECT_EQ(ring.Begin(2), 1);
  EXPECT_EQ(MessageOf([&] { ring.Begin(2); }), "the disk is gone");
}

TEST(SlotRing, AFailureReachesStagesBeforeAndAfter) {
  SlotRing ring(/*slots=*/2, /*stages=*/3);
  auto last = std::async(std::launch::async, [&] { return MessageOf([&] { ring.Begin(2); }); });
  ring.Begin(0);
  ring.End(0);
  ring.Begin(1);
  EXPECT_EQ(last.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  ring.Fail(1, Reason("the device is gone"));
  EXPECT_EQ(last.get(), "the device is gone");
  EXPECT_EQ(MessageOf([&] { ring.Begin(0); }), "the device is gone");
}

TEST(SlotRing, AwaitEndWaitsForAnItemThatTheCallerHasNotBegun) {
  SlotRing ring(/*slots=*/2, /*stages=*/2);
  ring.Begin(0);
  auto waits = std::async(std::launch::async, [&] { ring.AwaitEnd(0, 0); });
  EXPECT_EQ(waits.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  ring.End(0);
  waits.get();
  ring.Fail(0, Reason("no more"));
  EXPECT_EQ(MessageOf([&] { ring.AwaitEnd(0, 1); }), "no more");
}

TEST(SlotRing, CloseEndsEveryStageAtOnce) {
  SlotRing ring(/*slots=*/2, /*stages=*/2);
  ring.Begin(0);
  ring.End(0);
  ring.Close(Reason("closed"));
  EXPECT_EQ(MessageOf([&] { ring.Begin(0); }), "closed");
  EXPECT_EQ(MessageOf([&] { ring.Begin(1); }), "closed");
}

}  // namespace
}  // namespace tandem
