// Tests batches from shards: their order, and the effects of damage.
#include "loaders/shard_loader.h"

#include <ATen/ops/equal.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>

#include "data/examples.h"
#include "data/shard_file.h"
#include "loaders/loader.h"
#include "support/example_sets.h"
#include "support/recording_device.h"
#include "support/temp_folder.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::int64_t kRows = 1000;
constexpr int kDepth = 9;  // of the input of the 8-puzzle

// A row as text: its input and its target.
std::vector<std::string> RowsOf(const Batch& batch) {
  std::vector<std::string> rows;
  const at::Tensor inputs = batch.inputs.contiguous(), targets = batch.targets.contiguous();
  for (std::int64_t i = 0; i < targets.size(0); ++i) {
    const auto* input = inputs.const_data_ptr<std::uint8_t>() + i * inputs.size(1);
    std::string row(input, input + inputs.size(1));
    for (char& byte : row) byte = static_cast<char>(byte + '0');
    rows.push_back(row + fmt::format(" {}", targets.const_data_ptr<float>()[i]));
  }
  return rows;
}

class ShardLoaderTest : public testing::Test {
 protected:
  ShardLoaderTest() { MakeShards(folder_.path()); }

  // A config with a seed and a `data` section. All rows come from shards, unless `data` says else.
  static Config With(std::int64_t seed, const DataConfig& data = {}, std::int64_t batch_size = 50) {
    Config config;
    config.seed = seed;
    config.data = data;
    config.data.source = DataSource::kShards;
    config.train.batch_size = batch_size;
    return config;
  }

  std::unique_ptr<ShardLoader> Make(const Config& config = With(0),
                                    const std::optional<ShardPosition>& from = std::nullopt) {
    return std::make_unique<ShardLoader>(*device_, ShardSet(folder_.path()), kDepth, config, from);
  }

  // The rows of the next batches.
  static std::vector<std::string> Rows(ShardLoader& loader, int batches) {
    std::vector<std::string> rows;
    for (int i = 0; i < batches; ++i) {
      const std::vector<std::string> batch = RowsOf(loader.Next(/*update=*/0).value());
      rows.insert(rows.end(), batch.begin(), batch.end());
    }
    return rows;
  }

  // The rows of the set, and how often each occurs.
  std::map<std::string, int> Stored() const {
    const ShardSet set(folder_.path());
    std::map<std::string, int> stored;
    for (std::int64_t c = 0; c < set.spec().num_chunks(); ++c) {
      DataBuffer rows(set.spec().schema, static_cast<std::size_t>(set.spec().RowsOfChunk(c)));
      std::vector<std::byte> bytes(rows.bytes().size());
      set.Read(c, bytes);
      for (std::size_t i = 0; i < rows.rows(); ++i) {
        const auto* input = reinterpret_cast<const char*>(bytes.data()) + i * 9;
        std::string row(input, 9);
        for (char& byte : row) byte = static_cast<char>(byte + '0');
        float target = 0;
        std::memcpy(
            &target,
            bytes.data() + DataBuffer::OffsetOf(1, rows.schema(), rows.rows()) + i * sizeof(float),
            sizeof(float));
        ++stored[row + fmt::format(" {}", target)];
      }
    }
    return stored;
  }

  static std::map<std::string, int> Counted(std::span<const std::string> rows) {
    std::map<std::string, int> counts;
    for (const std::string& row : rows) ++counts[row];
    return counts;
  }

  void Damage(std::int64_t shard, std::int64_t chunk) const {
    const std::filesystem::path path = ShardPath(folder_.path(), shard);
    const auto offset = ReadHeader(path).chunks[static_cast<std::size_t>(chunk)].offset;
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(offset + 3);
    file.put('x');
  }

  const TempFolder folder_;
  const std::unique_ptr<Device> device_ = OpenDevice("cpu");
};

TEST_F(ShardLoaderTest, EveryEpochHasEveryRowOnceInADifferentOrder) {
  const auto loader = Make();
  const std::vector<std::string> rows = Rows(*loader, /*batches=*/40);
  const std::span<const std::string> first = std::span(rows).first(kRows);
  const std::span<const std::string> second = std::span(rows).subspan(kRows, kRows);
  EXPECT_EQ(Counted(first), Stored());
  EXPECT_EQ(Counted(second), Stored());
  EXPECT_FALSE(std::ranges::equal(first, second));
  EXPECT_EQ(loader->position().rows, 2 * kRows);
  EXPECT_GT(loader->disk().bytes, 2 * kRows * 13);
  EXPECT_GT(loader->transfer().bytes, 2 * kRows * 13);
}

TEST_F(ShardLoaderTest, WeightsTravelWithTheirRows) {
  Config config = Puzzle8Config();
  config.network.head = Head::kQ;
  const TempFolder folder;
  MakeShards(folder.path(), SmallShards(), {}, config);
  ShardLoader loader(*device_, ShardSet(folder.path()), kDepth, With(0, {}, /*batch_size=*/200),
                     std::nullopt);  // more than a chunk
  for (int i = 0; i < 5; ++i) {
    const Batch batch = loader.Next(/*update=*/0).value();
    ASSERT_TRUE(batch.weights.defined());
    // An output has a label if and only if it has a weight.
    EXPECT_TRUE(at::equal(batch.weights, batch.targets.gt(0).to(at::kFloat)));
  }
  EXPECT_FALSE(Make()->Next(/*update=*/0)->weights.defined());
}

TEST_F(ShardLoaderTest, OrderDependsOnTheSeedOnly) {
  const std::vector<std::string> rows = Rows(*Make(With(1)), 25);
  EXPECT_EQ(Rows(*Make(With(1)), 25), rows);
  EXPECT_EQ(Rows(*Make(With(1, {}, /*batch_size=*/125)), 10), rows);
  EXPECT_NE(Rows(*Make(With(2)), 25), rows);
}

TEST_F(ShardLoaderTest, ResumesInTheMiddleOfAChunkAndOfAnEpoch) {
  for (const int before : {0, 1, 7, 20, 27}) {
    const auto loader = Make();
    Rows(*loader, before);
    const auto resumed = Make(With(0), loader->position());
    EXPECT_EQ(Rows(*resumed, 30), Rows(*loader, 30)) << before;
    EXPECT_EQ(resumed->position().rows, loader->position().rows);
  }
}

TEST_F(ShardLoaderTest, RejectsResumingWithAnotherSet) {
  const ShardPosition elsewhere{.set = "another", .rows = 100};
  EXPECT_THROW(Make(With(0), elsewhere), InputError);
}

// Layers use the bytes as indices, so a byte beyond the network's input must not reach them.
TEST_F(ShardLoaderTest, RejectsInputsBeyondTheDepthOfTheNetwork) {
  ShardLoader loader(*device_, ShardSet(folder_.path()), kDepth - 1, With(0), std::nullopt);
  try {
    loader.Next(/*update=*/0);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("row 0 of the network's input has a byte 8"),
                                    HasSubstr("expected values below 8")));
  }
}

TEST_F(ShardLoaderTest, RejectsWeightsBelowZero) {
  Config config = Puzzle8Config();
  config.network.head = Head::kQ;
  const TempFolder folder;
  const ShardSetSpec set = MakeShards(
      folder.path(), {.examples = 100, .chunk_rows = 100, .chunks_per_shard = 1}, {}, config);
  DataBuffer rows(set.schema, 100);
  rows.floats(kWeightColumn, /*row=*/5)[2] = -1;
  ShardWriter writer(ShardPath(folder.path(), 0), set, /*shard=*/0);
  writer.Add(rows);
  writer.Commit();
  ShardLoader loader(*device_, ShardSet(folder.path()), kDepth, With(0), std::nullopt);
  EXPECT_THAT([&] { loader.Next(/*update=*/0); },
              testing::ThrowsMessage<Error>(
                  HasSubstr("shard-000000.tandem, chunk 0: weight 2 of row 5 is -1")));
}

TEST_F(ShardLoaderTest, DamageThrowsAnErrorThatNamesIt) {
  Damage(1, 2);
  const auto loader = Make();
  try {
    Rows(*loader, 20);
    FAIL() << "no exception";
  } catch (const DamagedShard& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("shard-000001.tandem"), HasSubstr("chunk 2")));
  }
}

TEST_F(ShardLoaderTest, AMissingShardCountsAsDamage) {
  std::filesystem::remove(ShardPath(folder_.path(), 0));
  EXPECT_THROW(Make(), DamagedShard);
}

// A chunk may be copied to a slot only after training has read the slot's previous chunk.
TEST_F(ShardLoaderTest, SlotsAreUsedInOrder) {
  const std::vector<std::string> cycle = {"await host", "await released", "enqueue",
                                          "await host", "await copy",     "release"};
  RecordingDevice device;
  {
    ShardLoader loader(device, ShardSet(folder_.path()), kDepth, With(0), std::nullopt);
    Rows(loader, 80);
  }
  std::map<int, std::size_t> seen;  // by slot
  for (const SlotEvent& event : device.recorder.events()) {
    EXPECT_EQ(event.what, cycle[seen[event.slot]++ % cycle.size()]) << "slot " << event.slot;
  }
  EXPECT_EQ(seen.size(), ChunkQueues().num_slots());
  for (const auto& [slot, events] : seen) EXPECT_GT(events, 2 * cycle.size()) << "slot " << slot;
}

TEST_F(ShardLoaderTest, GeneratedRowsArePutBeforeRowsFromShards) {
  const auto alone = Make(With(0, {}, /*batch_size=*/10));
  const std::vector<std::string> expected = Rows(*alone, 3);
  const Config config = With(0, {.live_share = 1.0 / 6}, /*batch_size=*/12);
  const auto stored = Make(config);
  const Schema schema = stored->set().spec().schema;
  DataBuffer live(schema, 6);  // rows that the set does not contain
  std::ranges::fill(live.column(kInputColumn).bytes(), std::uint8_t{9});
  DataLoader loader(*device_, schema, config, stored.get());
  const auto batches = loader.Open(&live, 0);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::vector<std::string> rows = RowsOf(batches->Next());
    ASSERT_EQ(rows.size(), 12U);
    EXPECT_EQ(rows[0], "999999999 0");
    EXPECT_EQ(rows[1], "999999999 0");
    EXPECT_EQ(std::vector(rows.begin() + 2, rows.end()),
              std::vector(expected.begin() + static_cast<std::ptrdiff_t>(10 * i),
                          expected.begin() + static_cast<std::ptrdiff_t>(10 * (i + 1))));
  }
}

TEST_F(ShardLoaderTest, WithoutALiveShareNoBufferIsNeeded) {
  const auto alone = Make(), stored = Make();
  DataLoader loader(*device_, stored->set().spec().schema, With(0), stored.get());
  const auto batches = loader.Open(/*rows=*/nullptr, 0);
  EXPECT_EQ(RowsOf(batches->Next()), Rows(*alone, 1));
}

}  // namespace
}  // namespace tandem
