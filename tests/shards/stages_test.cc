// The three stages: order, bounds, and what happens when one of them fails.
#include "shards/stages.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "support/timed_stages.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// Marks slots with their step at each stage, and keeps count.
class Marking final : public StageWork {
 public:
  explicit Marking(std::size_t slots) : loaded(slots, -1), transferred(slots, -1) {}

  bool Load(std::int64_t step, std::size_t slot) override {
    if (skip(step)) return false;
    loaded[slot] = step;
    ++loads;
    if (step == fail_load_at) throw Error("the disk is gone");
    return true;
  }
  void Transfer(std::int64_t step, std::size_t slot) override {
    EXPECT_EQ(loaded[slot], step);
    while (hold_transfers) std::this_thread::yield();
    if (step == fail_transfer_at) throw Error("the device is gone");
    transferred[slot] = step;
    ++transfers;
  }

  std::vector<std::int64_t> loaded, transferred;  // by slot
  std::function<bool(std::int64_t)> skip = [](std::int64_t) { return false; };
  std::int64_t fail_load_at = -1, fail_transfer_at = -1;
  std::atomic<int> loads{0}, transfers{0};
  std::atomic<bool> hold_transfers{false};
};

// Waits for what threads do in their own time.
void Settle(const std::function<bool()>& settled) {
  const Stopwatch watch;
  while (!settled() && watch.Seconds() < 20) std::this_thread::yield();
  EXPECT_TRUE(settled());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // and no more comes
}

TEST(Stages, HandsOutEveryChunkInOrder) {
  const StageDepths depths{.cpu = 2, .gpu = 2};
  Marking work(depths.slots());
  Stages stages(work, depths, /*first=*/5, /*epoch_steps=*/10);
  for (std::int64_t step = 5; step < 200; ++step) {
    const Stages::Chunk chunk = stages.Take();
    ASSERT_EQ(chunk.step, step);
    ASSERT_EQ(work.transferred[chunk.slot], step);
    stages.Release();
  }
}

TEST(Stages, LeavesOutWhatTheDiskSkips) {
  const StageDepths depths{.cpu = 1, .gpu = 1};
  Marking work(depths.slots());
  work.skip = [](std::int64_t step) { return step % 3 == 0; };
  Stages stages(work, depths, 0, 7);
  for (std::int64_t step = 1; step < 100; step += step % 3 == 2 ? 2 : 1) {
    ASSERT_EQ(stages.Take().step, step);
    stages.Release();
  }
}

TEST(Stages, GoNoFurtherAheadThanTheirQueues) {
  const StageDepths depths{.cpu = 3, .gpu = 2};
  Marking work(depths.slots());
  Stages stages(work, depths, 0, 1000);
  stages.Take();
  // One is trained on, two wait on the device and three on the host.
  Settle([&] { return work.loads == 6 && work.transfers == 3; });
  EXPECT_EQ(work.loads, 6);
  EXPECT_EQ(work.transfers, 3);
  stages.Release();
  stages.Take();
  Settle([&] { return work.loads == 7 && work.transfers == 4; });
  EXPECT_EQ(work.loads, 7);
}

TEST(Stages, TheDiskWaitsForASlowTransfer) {
  const StageDepths depths{.cpu = 2, .gpu = 3};
  Marking work(depths.slots());
  work.hold_transfers = true;
  Stages stages(work, depths, 0, 1000);
  Settle([&] { return work.loads == 3; });  // one is on its way, and two wait
  EXPECT_EQ(work.loads, 3);
  work.hold_transfers = false;
  EXPECT_EQ(stages.Take().step, 0);
}

TEST(Stages, OfTwoFailuresTheFirstShows) {
  const StageDepths depths;
  Marking work(depths.slots());
  work.hold_transfers = true;
  work.fail_load_at = 1;
  work.fail_transfer_at = 0;
  Stages stages(work, depths, 0, 1000);
  Settle([&] { return work.loads == 2; });  // the second has failed
  work.hold_transfers = false;
  try {
    stages.Take();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the disk is gone");
  }
}

TEST(Stages, AFailedDiskShowsAfterTheChunksThatItHadRead) {
  const StageDepths depths;
  Marking work(depths.slots());
  work.fail_load_at = 3;
  Stages stages(work, depths, 0, 1000);
  for (std::int64_t step = 0; step < 3; ++step) {
    ASSERT_EQ(stages.Take().step, step);
    stages.Release();
  }
  EXPECT_THROW(stages.Take(), Error);
  EXPECT_THROW(stages.Take(), Error);
}

TEST(Stages, AFailedTransferShows) {
  const StageDepths depths;
  Marking work(depths.slots());
  work.fail_transfer_at = 1;
  Stages stages(work, depths, 0, 1000);
  EXPECT_EQ(stages.Take().step, 0);
  stages.Release();
  EXPECT_THROW(stages.Take(), Error);
}

TEST(Stages, CanBeGivenUpAtAnyTime) {
  for (int taken = 0; taken < 4; ++taken) {
    const StageDepths depths;
    Marking work(depths.slots());
    Stages stages(work, depths, 0, 3);
    for (int i = 0; i < taken; ++i) {
      stages.Take();
      stages.Release();
    }
  }
}

// tests/long/stages_test.cc holds all three to 5 %, over more chunks.
TEST(Stages, OverlapSimulatedTimes) {
  TimedStages stages({.disk_s = 0.01, .transfer_s = 0.005, .train_s = 0.008});
  constexpr int kChunks = 40;
  const StageMeasured measured = stages.Run(kChunks);
  const auto [disk_s, transfer_s, train_s] = measured.means;
  EXPECT_LT(measured.wall_s, 1.2 * kChunks * measured.means.Slowest());
  EXPECT_LT(measured.wall_s, 0.7 * kChunks * (disk_s + transfer_s + train_s));
}

}  // namespace
}  // namespace tandem
