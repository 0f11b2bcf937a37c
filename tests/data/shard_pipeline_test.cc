// The three stages: order, bounds, and what happens when one of them fails.
#include "data/shard_pipeline.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "support/timed_stages.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// Marks slots with their step at each stage, and keeps count.
class Marking final : public ChunkStages {
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

TEST(ShardPipeline, HandsOutEveryChunkInOrder) {
  const DataConfig config{.cpu_prefetch = 2, .gpu_prefetch = 2};
  Marking work(NumChunkSlots(config));
  ShardPipeline pipeline(work, config, /*first=*/5, /*epoch_steps=*/10);
  for (std::int64_t step = 5; step < 200; ++step) {
    const ShardPipeline::Item chunk = pipeline.Take();
    ASSERT_EQ(chunk.step, step);
    ASSERT_EQ(work.transferred[chunk.slot], step);
    pipeline.Release();
  }
}

TEST(ShardPipeline, LeavesOutWhatTheDiskSkips) {
  const DataConfig config{.cpu_prefetch = 1, .gpu_prefetch = 1};
  Marking work(NumChunkSlots(config));
  work.skip = [](std::int64_t step) { return step % 3 == 0; };
  ShardPipeline pipeline(work, config, 0, 7);
  for (std::int64_t step = 1; step < 100; step += step % 3 == 2 ? 2 : 1) {
    ASSERT_EQ(pipeline.Take().step, step);
    pipeline.Release();
  }
}

TEST(ShardPipeline, GoNoFurtherAheadThanTheirQueues) {
  const DataConfig config{.cpu_prefetch = 3, .gpu_prefetch = 2};
  Marking work(NumChunkSlots(config));
  ShardPipeline pipeline(work, config, 0, 1000);
  pipeline.Take();
  // One is trained on, two wait on the device and three on the host.
  Settle([&] { return work.loads == 6 && work.transfers == 3; });
  EXPECT_EQ(work.loads, 6);
  EXPECT_EQ(work.transfers, 3);
  pipeline.Release();
  pipeline.Take();
  Settle([&] { return work.loads == 7 && work.transfers == 4; });
  EXPECT_EQ(work.loads, 7);
}

TEST(ShardPipeline, TheDiskWaitsForASlowTransfer) {
  const DataConfig config{.cpu_prefetch = 2, .gpu_prefetch = 3};
  Marking work(NumChunkSlots(config));
  work.hold_transfers = true;
  ShardPipeline pipeline(work, config, 0, 1000);
  Settle([&] { return work.loads == 3; });  // one is on its way, and two wait
  EXPECT_EQ(work.loads, 3);
  work.hold_transfers = false;
  EXPECT_EQ(pipeline.Take().step, 0);
}

TEST(ShardPipeline, OfTwoFailuresTheFirstShows) {
  const DataConfig config;
  Marking work(NumChunkSlots(config));
  work.hold_transfers = true;
  work.fail_load_at = 1;
  work.fail_transfer_at = 0;
  ShardPipeline pipeline(work, config, 0, 1000);
  Settle([&] { return work.loads == 2; });  // the second has failed
  work.hold_transfers = false;
  try {
    pipeline.Take();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the disk is gone");
  }
}

TEST(ShardPipeline, AFailedDiskShowsAfterTheChunksThatItHadRead) {
  const DataConfig config;
  Marking work(NumChunkSlots(config));
  work.fail_load_at = 3;
  ShardPipeline pipeline(work, config, 0, 1000);
  for (std::int64_t step = 0; step < 3; ++step) {
    ASSERT_EQ(pipeline.Take().step, step);
    pipeline.Release();
  }
  EXPECT_THROW(pipeline.Take(), Error);
  EXPECT_THROW(pipeline.Take(), Error);
}

TEST(ShardPipeline, AFailedTransferShows) {
  const DataConfig config;
  Marking work(NumChunkSlots(config));
  work.fail_transfer_at = 1;
  ShardPipeline pipeline(work, config, 0, 1000);
  EXPECT_EQ(pipeline.Take().step, 0);
  pipeline.Release();
  EXPECT_THROW(pipeline.Take(), Error);
}

TEST(ShardPipeline, CanBeGivenUpAtAnyTime) {
  for (int taken = 0; taken < 4; ++taken) {
    const DataConfig config;
    Marking work(NumChunkSlots(config));
    ShardPipeline pipeline(work, config, 0, 3);
    for (int i = 0; i < taken; ++i) {
      pipeline.Take();
      pipeline.Release();
    }
  }
}

// tests/long/shard_pipeline_test.cc holds all three to 5 %, over more chunks.
TEST(ShardPipeline, OverlapSimulatedTimes) {
  TimedStages stages({.disk_s = 0.01, .transfer_s = 0.005, .train_s = 0.008});
  constexpr int kChunks = 40;
  const StageMeasured measured = stages.Run(kChunks);
  const auto [disk_s, transfer_s, train_s] = measured.means;
  EXPECT_LT(measured.wall_s, 1.2 * kChunks * measured.means.Slowest());
  EXPECT_LT(measured.wall_s, 0.7 * kChunks * (disk_s + transfer_s + train_s));
}

}  // namespace
}  // namespace tandem
