#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "search/best_first_search.h"

namespace tandem {
namespace {

TEST(OpenList, MemoryIsWithinBytesFor) {
  OpenList open;
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    open.Push(1, i);
    ASSERT_LE(open.bytes(), OpenList::BytesFor(i + 1)) << i;
  }
}

TEST(OpenList, PopsLeastValueAndOnTiesTheLatestNode) {
  OpenList open;
  open.Push(2, 10);
  open.Push(0, 5);
  open.Push(2, 11);
  open.Push(0.5F, 1);
  EXPECT_EQ(open.least(), 0.0F);
  std::vector<std::uint32_t> order;
  while (!open.empty()) order.push_back(open.Pop());
  EXPECT_EQ(order, (std::vector<std::uint32_t>{5, 1, 11, 10}));
}

TEST(OpenList, PopsRandomValuesInOrder) {
  OpenList open;
  std::vector<float> values;
  Random random(1, Purpose::kShuffle);
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    values.push_back(static_cast<float>(random.Below(1'000'000)) / 7.0F);
    open.Push(values.back(), i);
  }
  std::ranges::sort(values);
  for (const float value : values) {
    ASSERT_EQ(open.least(), value);
    open.Pop();
  }
  EXPECT_TRUE(open.empty());
}

}  // namespace
}  // namespace tandem
