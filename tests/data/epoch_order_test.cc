// Tests of the order in which epochs read chunks and rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "data/shard_set.h"

namespace tandem {
namespace {

const ShardSetSpec kSet{.examples = 1000, .chunk_rows = 128, .chunks_per_shard = 3};

std::vector<std::int64_t> ChunksOf(EpochOrder& order, std::int64_t epoch) {
  std::vector<std::int64_t> chunks;
  for (std::int64_t i = 0; i < kSet.num_chunks(); ++i) {
    chunks.push_back(order.ChunkOf(epoch * kSet.num_chunks() + i));
  }
  return chunks;
}

TEST(EpochOrder, EachEpochHasEachChunkOnceInItsOwnOrder) {
  EpochOrder order(kSet, /*seed=*/1);
  std::set<std::vector<std::int64_t>> orders;
  for (std::int64_t epoch = 0; epoch < 5; ++epoch) {
    std::vector<std::int64_t> chunks = ChunksOf(order, epoch);
    orders.insert(chunks);
    std::ranges::sort(chunks);
    for (std::int64_t i = 0; i < kSet.num_chunks(); ++i) {
      EXPECT_EQ(chunks[static_cast<std::size_t>(i)], i);
    }
  }
  EXPECT_EQ(orders.size(), 5U);
}

TEST(EpochOrder, DependsOnlyOnTheSeed) {
  EpochOrder a(kSet, 1), same(kSet, 1), other(kSet, 2);
  const std::vector<std::int64_t> late = ChunksOf(a, 7);
  EXPECT_EQ(ChunksOf(a, 0), ChunksOf(same, 0));
  EXPECT_EQ(ChunksOf(same, 7), late);
  EXPECT_NE(ChunksOf(other, 0), ChunksOf(same, 0));
}

// A run resumed from a checkpoint of an earlier version must read the rows in the same order.
TEST(EpochOrder, NeverChanges) {
  EpochOrder order(kSet, 1);
  EXPECT_EQ(ChunksOf(order, 2), (std::vector<std::int64_t>{3, 1, 6, 5, 2, 4, 0, 7}));
  std::vector<std::int32_t> rows(10);
  ShuffleRows(rows, /*seed=*/1, /*epoch=*/2, /*chunk=*/3);
  EXPECT_EQ(rows, (std::vector<std::int32_t>{9, 5, 0, 3, 4, 1, 8, 2, 6, 7}));
}

TEST(EpochOrder, FindsEachRowOfTheSequence) {
  EpochOrder order(kSet, 3), looked_up(kSet, 3);
  std::int64_t row = 0;
  for (std::int64_t step = 0; step < 3 * kSet.num_chunks(); ++step) {
    const std::int64_t rows = kSet.RowsOfChunk(order.ChunkOf(step));
    for (std::int64_t i = 0; i < rows; ++i, ++row) {
      const EpochPosition position = looked_up.Find(row);
      ASSERT_EQ(position.step, step) << row;
      ASSERT_EQ(position.row, i) << row;
    }
  }
  EXPECT_EQ(row, 3 * kSet.examples);
}

TEST(EpochOrder, RowOrderDependsOnEpochAndChunk) {
  std::set<std::vector<std::int32_t>> orders;
  for (const auto& [epoch, chunk] : {std::pair{0, 0}, std::pair{0, 1}, std::pair{1, 0}}) {
    std::vector<std::int32_t> rows(128);
    ShuffleRows(rows, 1, epoch, chunk);
    orders.insert(rows);
    std::ranges::sort(rows);
    for (std::int32_t i = 0; i < 128; ++i) EXPECT_EQ(rows[static_cast<std::size_t>(i)], i);
  }
  EXPECT_EQ(orders.size(), 3U);
}

}  // namespace
}  // namespace tandem
