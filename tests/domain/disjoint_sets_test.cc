#include <gtest/gtest.h>

#include "domain/permute.h"

namespace tandem {
namespace {

TEST(DisjointSets, JoinedNumbersAreInOneSet) {
  DisjointSets sets(6);
  EXPECT_EQ(sets.Sizes(), std::vector<std::size_t>(6, 1));
  sets.Join(0, 3);
  sets.Join(5, 4);
  sets.Join(3, 5);
  sets.Join(0, 4);  // already in one set
  EXPECT_EQ(sets.Find(0), sets.Find(4));
  EXPECT_EQ(sets.Find(3), sets.Find(5));
  EXPECT_NE(sets.Find(0), sets.Find(1));
  EXPECT_NE(sets.Find(1), sets.Find(2));
  EXPECT_EQ(sets.Sizes()[sets.Find(5)], 4);
  EXPECT_EQ(sets.Sizes()[sets.Find(2)], 1);
}

}  // namespace
}  // namespace tandem
