#include "search/node_table.h"

#include <gtest/gtest.h>

#include <array>

#include "base/random.h"
#include "search/hash_set.h"

namespace tandem {
namespace {

using Bytes = std::array<std::uint8_t, 6>;

Bytes Numbered(std::uint32_t number) {
  Bytes bytes = {1, 2};
  for (std::size_t i = 0; i < 4; ++i) bytes[2 + i] = static_cast<std::uint8_t>(number >> (8 * i));
  return bytes;
}

TEST(NodeTable, FindsExactlyTheAddedStates) {
  constexpr std::uint32_t kNodes = 100'000;
  NodeTable table(6);
  for (std::uint32_t i = 0; i < kNodes; ++i) {
    const Bytes state = Numbered(i);
    ASSERT_EQ(table.Find(state, HashState(state)), NodeTable::kNone);
    table.Add(state, HashState(state),
              {.cost = float(i), .estimate = 1, .parent = i / 2, .flag = i % 2},
              static_cast<Action>(i % 12));
  }
  ASSERT_EQ(table.size(), kNodes);
  for (std::uint32_t i = 0; i < kNodes; ++i) {
    const Bytes state = Numbered(i);
    ASSERT_EQ(table.Find(state, HashState(state)), i);
    ASSERT_TRUE(std::ranges::equal(table.state(i), state));
    ASSERT_EQ(table[i].cost, float(i));
    ASSERT_EQ(table[i].parent, i / 2);
    ASSERT_EQ(table[i].flag, i % 2);
    ASSERT_EQ(table.action(i), i % 12);
  }
  const Bytes other = Numbered(kNodes);
  EXPECT_EQ(table.Find(other, HashState(other)), NodeTable::kNone);
}

TEST(NodeTable, DistinguishesStatesWithEqualHashes) {
  constexpr std::uint64_t kHash = 0xFFFF'FFFF'0000'0000;  // the last slot, so probing wraps around
  NodeTable table(6);
  for (std::uint32_t i = 0; i < 200; ++i) {
    ASSERT_EQ(table.Find(Numbered(i), kHash), NodeTable::kNone);
    table.Add(Numbered(i), kHash, {}, 0);
  }
  for (std::uint32_t i = 0; i < 200; ++i) ASSERT_EQ(table.Find(Numbered(i), kHash), i);
}

TEST(NodeTable, MemoryPerNodeIsBounded) {
  NodeTable table(6);
  for (std::uint32_t i = 0; i < 300'000; ++i) {
    const Bytes state = Numbered(i);
    table.Add(state, HashState(state), {}, 0);
    ASSERT_LE(table.bytes(), NodeTable::BytesFor(i + 1, 6)) << i;
    if (i > 50'000) {
      ASSERT_LE(table.bytes(), (i + 1) * (6 + 18 + 16.5)) << i;
    }
  }
}

}  // namespace
}  // namespace tandem
