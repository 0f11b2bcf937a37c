// The three stages: order, bounds, and what happens when one of them fails.
#include "data/shard_pipeline.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <exception>
#include <future>

#include "support/wait.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// Marks slots with their step at each stage, and keeps count.
class Marking final : public ChunkStages {
 public:
  explicit Marking(std::size_t slots) : loaded(slots, -1), transferred(slots, -1) {}

  void Load(std::int64_t step, std::size_t slot) override {
    loaded[slot] = step;
    EXPECT_LE(++loads, most_loads);
    if (step == fail_load_at) throw Error("the disk is gone");
  }
  void Transfer(std::int64_t step, std::size_t slot) override {
    EXPECT_EQ(loaded[slot], step);
    while (hold_transfers) std::this_thread::yield();
    if (step == fail_transfer_at) throw Error("the device is gone");
    transferred[slot] = step;
    EXPECT_LE(++transfers, most_transfers);
  }

  std::vector<std::int64_t> loaded, transferred;  // by slot
  std::int64_t fail_load_at = -1, fail_transfer_at = -1;
  std::atomic<int> loads{0}, transfers{0};
  std::atomic<int> most_loads{1'000'000}, most_transfers{1'000'000};  // more fail the test
  std::atomic<bool> hold_transfers{false};
};

TEST(ShardPipeline, HandsOutEveryChunkInOrder) {
  const ChunkQueues queues{.on_host = 2, .on_device = 2};
  Marking work(queues.num_slots());
  ShardPipeline pipeline(work, queues, /*first=*/5, /*epoch_steps=*/10);
  for (std::int64_t step = 5; step < 200; ++step) {
    const ShardPipeline::Item chunk = pipeline.Take();
    ASSERT_EQ(chunk.step, step);
    ASSERT_EQ(work.transferred[chunk.slot], step);
    pipeline.Release();
  }
}

TEST(ShardPipeline, StagesGoNoFurtherAheadThanTheirQueues) {
  const ChunkQueues queues{.on_host = 3, .on_device = 2};
  Marking work(queues.num_slots());
  // One is trained on, two wait on the device and three on the host.
  work.most_loads = 6;
  work.most_transfers = 3;
  ShardPipeline pipeline(work, queues, 0, 1000);
  pipeline.Take();
  WaitUntil([&] { return work.loads == 6 && work.transfers == 3; });
  for (int released = 1; released < 20; ++released) {
    work.most_loads = 6 + released;
    work.most_transfers = 3 + released;
    pipeline.Release();
    pipeline.Take();
    WaitUntil([&] { return work.loads == 6 + released && work.transfers == 3 + released; });
  }
}

TEST(ShardPipeline, TheDiskWaitsForASlowTransfer) {
  const ChunkQueues queues{.on_host = 2, .on_device = 3};
  Marking work(queues.num_slots());
  work.hold_transfers = true;
  work.most_loads = 3;  // one is on its way, and two wait
  ShardPipeline pipeline(work, queues, 0, 1000);
  WaitUntil([&] { return work.loads == 3; });
  work.most_loads = 1000;
  work.hold_transfers = false;
  EXPECT_EQ(pipeline.Take().step, 0);
}

TEST(ShardPipeline, InterrupterEndsTheWaitForAChunkThatDoesNotCome) {
  const ChunkQueues queues;
  Marking work(queues.num_slots());
  work.hold_transfers = true;
  Interrupter interrupter;
  ShardPipeline pipeline(work, queues, 0, 1000, &interrupter);
  auto taken = std::async(std::launch::async, [&] { pipeline.Take(); });
  EXPECT_EQ(taken.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  interrupter.Interrupt(std::make_exception_ptr(Error("no progress")));
  EXPECT_THROW(taken.get(), Error);
  work.hold_transfers = false;  // the thread can end
}

// Which of them is first depends on when each thread reports its own.
TEST(ShardPipeline, OfTwoFailuresOneIsThrownAndStays) {
  const ChunkQueues queues;
  Marking work(queues.num_slots());
  work.hold_transfers = true;
  work.fail_load_at = 1;
  work.fail_transfer_at = 0;
  ShardPipeline pipeline(work, queues, 0, 1000);
  WaitUntil([&] { return work.loads == 2; });  // the second fails
  work.hold_transfers = false;
  const auto failure = [&]() -> std::string {
    try {
      pipeline.Take();
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  };
  const std::string first = failure();
  EXPECT_TRUE(first == "the disk is gone" || first == "the device is gone") << first;
  EXPECT_EQ(failure(), first);
}

TEST(ShardPipeline, DiskFailureIsThrownAfterTheChunksReadBeforeIt) {
  const ChunkQueues queues;
  Marking work(queues.num_slots());
  work.fail_load_at = 3;
  ShardPipeline pipeline(work, queues, 0, 1000);
  for (std::int64_t step = 0; step < 3; ++step) {
    ASSERT_EQ(pipeline.Take().step, step);
    pipeline.Release();
  }
  EXPECT_THROW(pipeline.Take(), Error);
  EXPECT_THROW(pipeline.Take(), Error);
}

TEST(ShardPipeline, TransferFailureIsThrown) {
  const ChunkQueues queues;
  Marking work(queues.num_slots());
  work.fail_transfer_at = 1;
  ShardPipeline pipeline(work, queues, 0, 1000);
  EXPECT_EQ(pipeline.Take().step, 0);
  pipeline.Release();
  EXPECT_THROW(pipeline.Take(), Error);
}

TEST(ShardPipeline, DestructorEndsTheStagesWhateverWasTaken) {
  for (int taken = 0; taken < 4; ++taken) {
    const ChunkQueues queues;
    Marking work(queues.num_slots());
    {
      ShardPipeline pipeline(work, queues, 0, 3);
      for (int i = 0; i < taken; ++i) {
        pipeline.Take();
        pipeline.Release();
      }
    }
    work.most_loads = 0;  // a stage that has not ended fails the test
    work.most_transfers = 0;
    EXPECT_GE(work.transfers, taken);
    EXPECT_GE(work.loads, work.transfers);
  }
}

// In each round, one chunk is loaded, one is copied and one is trained on. Each stage waits for the
// other two, so the test ends only if all three work at the same time.
class MeetingStages final : public ChunkStages {
 public:
  static constexpr int kRounds = 50;

  void Load(std::int64_t step, std::size_t /*slot*/) override { Meet(step - 2); }
  void Transfer(std::int64_t step, std::size_t /*slot*/) override { Meet(step - 1); }
  void Train(std::int64_t step) { Meet(step); }

 private:
  void Meet(std::int64_t round) {
    if (0 <= round && round < kRounds) stages_.arrive_and_wait();
  }

  std::barrier<> stages_{3};
};

TEST(ShardPipeline, AllStagesWorkAtTheSameTime) {
  MeetingStages stages;
  ShardPipeline pipeline(stages, {.on_host = 1, .on_device = 1}, 0, 1000);
  for (int step = 0; step < MeetingStages::kRounds; ++step) {
    ASSERT_EQ(pipeline.Take().step, step);
    stages.Train(step);
    pipeline.Release();
  }
}

}  // namespace
}  // namespace tandem
