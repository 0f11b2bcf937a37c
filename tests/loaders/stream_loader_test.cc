// Tests batches from a stream: which shards they take, and what a batch has if rows are missing.
#include "loaders/stream_loader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "data/examples.h"
#include "data/stream_folder.h"
#include "generate/shard_jobs.h"
#include "nn/device.h"
#include "support/temp_folder.h"
#include "support/wait.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

constexpr std::int64_t kShardRows = 8;  // of a shard
constexpr std::int64_t kMaxLag = 4;
constexpr int kTileValues = 9;  // of the input of the 8-puzzle

class StreamLoaderTest : public testing::Test {
 protected:
  StreamLoaderTest() { folder_.Create(); }

  // Without a share of live rows, batches wait for rows of the stream.
  static Config MakeConfig(double live_share) {
    Config config;
    config.domain = {.name = "npuzzle", .argument = "3"};
    config.generate.target = Target::kValueIteration;
    config.data = {.source = DataSource::kStream, .live_share = live_share, .max_lag = kMaxLag};
    config.train.batch_size = live_share > 0 ? 12 : 6;  // 6 rows of each batch are stored
    return config;
  }

  std::unique_ptr<StreamLoader> Make(double live_share = 0, const StreamPosition& from = {}) {
    return std::make_unique<StreamLoader>(*device_, folder_.path(), kind_, kTileValues,
                                          MakeConfig(live_share), from, stop_, nullptr);
  }

  // Writes shard `number`, whose labels are its number.
  StreamShardName Write(std::int64_t number, std::int64_t version) {
    const StreamShardName name{
        .first_row = number * kShardRows, .rows = kShardRows, .version = version, .generator = "a"};
    DataBuffer rows(kind_.schema, kShardRows);
    std::ranges::fill(rows.floats(kTargetColumn), static_cast<float>(number));
    WriteStreamShard(folder_.path(), kind_, name, rows);
    return name;
  }

  // The number of rows of each shard, by its number.
  static std::map<float, int> ShardsOf(const Batch& batch) {
    std::map<float, int> rows;
    const at::Tensor targets = batch.targets.contiguous();
    for (std::int64_t i = 0; i < targets.size(0); ++i) ++rows[targets.const_data_ptr<float>()[i]];
    return rows;
  }

  const TempFolder temp_;
  const StreamFolder folder_{temp_.path() / "stream"};
  const std::unique_ptr<const Domain> domain_ = MakeDomain("npuzzle:3");
  const ShardSetSpec kind_ = StreamKind(MakeConfig(0), domain_->spec());
  const std::unique_ptr<Device> device_ = OpenDevice("cpu");
  StopSignal stop_;
};

TEST_F(StreamLoaderTest, BatchContinuesInTheNextShard) {
  Write(1, 0);
  Write(2, 0);
  const auto loader = Make();
  EXPECT_EQ(ShardsOf(loader->Next(/*update=*/0).value()), (std::map<float, int>{{1, 6}}));
  EXPECT_EQ(ShardsOf(loader->Next(/*update=*/0).value()), (std::map<float, int>{{1, 2}, {2, 4}}));
  EXPECT_EQ(loader->position().used_rows, 12);
  EXPECT_EQ(loader->position().current_rows, 4);
}

TEST_F(StreamLoaderTest, BatchSkipsShardsThatAreTooOld) {
  Write(1, 0);
  Write(2, 1);
  Write(3, 6);
  const auto loader = Make();
  loader->OnPublish(6);
  EXPECT_EQ(ShardsOf(loader->Next(/*update=*/6).value()), (std::map<float, int>{{3, 6}}));
  EXPECT_EQ(loader->position().dropped_shards, 2);
  EXPECT_EQ(loader->TakeUse().dropped_rows, 2 * kShardRows);
}

TEST_F(StreamLoaderTest, BatchThatNeedNotWaitHasTheRowsThatAreThere) {
  const auto loader = Make(/*live_share=*/0.5);
  EXPECT_FALSE(loader->Next(/*update=*/0));
  Write(1, 0);
  std::optional<Batch> batch;
  WaitUntil([&] {
    batch = loader->Next(/*update=*/0);
    return batch.has_value();
  });
  EXPECT_EQ(ShardsOf(*batch), (std::map<float, int>{{1, 6}}));
  EXPECT_EQ(ShardsOf(loader->Next(/*update=*/0).value()), (std::map<float, int>{{1, 2}}));
  EXPECT_FALSE(loader->Next(/*update=*/0));
}

TEST_F(StreamLoaderTest, ResumedRunTakesTheRowsThatItsCheckpointDoesNotCount) {
  Write(1, 0);
  StreamPosition checkpoint;
  {
    const auto loader = Make();
    loader->Next(/*update=*/0);
    checkpoint = loader->position();
  }
  Write(2, 0);
  const auto resumed = Make(/*live_share=*/0, checkpoint);
  EXPECT_EQ(ShardsOf(resumed->Next(/*update=*/0).value()), (std::map<float, int>{{1, 2}, {2, 4}}));
  EXPECT_EQ(resumed->position().used_rows, 12);
}

TEST_F(StreamLoaderTest, NewRunRefusesShardsOfAnEarlierRun) {
  Write(1, 0);
  EXPECT_THROW(StreamLoader(*device_, folder_.path(), kind_, kTileValues, MakeConfig(0),
                            std::nullopt, stop_, nullptr),
               InputError);
}

TEST_F(StreamLoaderTest, SecondRunOnTheSameFolderIsRefused) {
  auto first = Make();
  EXPECT_THROW(Make(), InputError);
  first.reset();
  EXPECT_NO_THROW(Make());
}

TEST_F(StreamLoaderTest, StopEndsTheWaitForRows) {
  const auto loader = Make();
  stop_.Request();
  EXPECT_THROW(loader->Next(/*update=*/0), Stopped);
}

}  // namespace
}  // namespace tandem
