#include "search/expander.h"

#include <gtest/gtest.h>

#include <numeric>

#include "search/hash_set.h"
#include "support/path_domain.h"
#include "support/small_puzzles.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

TEST(Expander, ReportsChildrenGoalsHashesAndUnchangedStates) {
  const PathDomain path(4);
  Expander expander(path);
  const std::vector<std::uint8_t> states = {1, 3};
  expander.Expand(ConstRows(states.data(), 2, 1));
  EXPECT_TRUE(std::ranges::equal(expander.children().bytes(), std::vector{0, 2, 2, 3}));
  EXPECT_TRUE(std::ranges::equal(expander.is_goal(), std::vector{1, 0, 0, 0}));
  EXPECT_TRUE(std::ranges::equal(expander.is_left_out(), std::vector{0, 0, 0, 1}));
  EXPECT_EQ(expander.num_generated(), 3);
  for (std::size_t child = 0; child < expander.size(); ++child) {
    EXPECT_EQ(expander.hashes()[child], HashState(expander.children()[child]));
  }
  EXPECT_EQ(expander.hashes()[1], expander.hashes()[2]);
  EXPECT_NE(expander.hashes()[0], expander.hashes()[1]);
}

TEST(Expander, ActionsWhoseChildrenAreLeftOutAreNotUseful) {
  const PathDomain path(4);
  Expander expander(path);
  const std::vector<std::uint8_t> states = {1, 3};
  expander.Expand(ConstRows(states.data(), 2, 1));
  EXPECT_EQ(expander.UsefulActions(0), (std::vector<Action>{0, 1}));
  EXPECT_EQ(expander.UsefulActions(1), (std::vector<Action>{0}));
}

TEST(Expander, KeepBestLeavesOutAllButTheLeastValuesAndKnownCosts) {
  const PathDomain path(4);
  Expander expander(path);
  const std::vector<std::uint8_t> states = {1, 2};
  expander.Expand(ConstRows(states.data(), 2, 1));
  expander.KeepBest(std::vector<float>{9, 1, 5, 4}, 1);
  // The first child is a goal, so its value does not matter.
  EXPECT_TRUE(std::ranges::equal(expander.is_left_out(), std::vector{0, 0, 1, 0}));
}

TEST(Expander, LargeBatchEqualsSingleStates) {
  const PathDomain path(256);
  Expander all(path);
  Expander one(path);
  std::vector<std::uint8_t> states(5000);
  std::iota(states.begin(), states.end(), std::uint8_t{0});
  all.Expand(ConstRows(states.data(), states.size(), 1));
  ASSERT_EQ(all.children().size(), 10'000U);
  for (std::size_t i = 0; i < states.size(); ++i) {
    one.Expand(ConstRows(&states[i], 1, 1));
    for (std::size_t a = 0; a < 2; ++a) {
      ASSERT_EQ(all.children()[2 * i + a][0], one.children()[a][0]);
      ASSERT_EQ(all.is_goal()[2 * i + a], one.is_goal()[a]);
      ASSERT_EQ(all.is_left_out()[2 * i + a], one.is_left_out()[a]);
      ASSERT_EQ(all.hashes()[2 * i + a], one.hashes()[a]);
    }
  }
}

TEST(Expander, RangesGiveTheSameChildren) {
  const PathDomain path(9);
  const std::vector<std::uint8_t> states = {1, 8, 4};
  const ConstRows rows(states.data(), 3, 1);
  Expander whole(path);
  whole.Expand(rows);
  Expander parts(path);
  parts.Resize(3);
  parts.ExpandRange(rows.Slice(1, 2), 1);
  parts.ExpandRange(rows.Slice(0, 1), 0);
  EXPECT_TRUE(std::ranges::equal(parts.children().bytes(), whole.children().bytes()));
  EXPECT_TRUE(std::ranges::equal(parts.is_goal(), whole.is_goal()));
  EXPECT_TRUE(std::ranges::equal(parts.is_left_out(), whole.is_left_out()));
  EXPECT_TRUE(std::ranges::equal(parts.hashes(), whole.hashes()));
}

TEST(NumberOfStates, CountsNoMoreStatesThanItIsAskedFor) {
  const PancakeDomain pancakes(4);
  EXPECT_EQ(NumberOfStates(pancakes, 24), 24U);
  EXPECT_EQ(NumberOfStates(pancakes, 23), std::nullopt);
}

TEST(NumberOfStates, NeedsInversesAndOneGoal) {
  EXPECT_EQ(NumberOfStates(*MakeDomain("sokoban:5"), 1'000'000), std::nullopt);
  EXPECT_EQ(NumberOfStates(*MakeDomain("grid:5"), 1'000'000), std::nullopt);
}

}  // namespace
}  // namespace tandem
