#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "report/comparison.h"

namespace tandem {
namespace {

using Values = std::vector<std::optional<double>>;

TEST(SpreadOf, EvenNumberOfValuesHasTheMeanOfTheMiddleTwoAsMedian) {
  const Spread spread = SpreadOf(Values{4.0, 1.0, 3.0, 10.0}).value();
  EXPECT_DOUBLE_EQ(spread.median, 3.5);
  EXPECT_DOUBLE_EQ(spread.least, 1);
  EXPECT_DOUBLE_EQ(spread.most, 10);
}

TEST(SpreadOf, OddNumberOfValuesHasTheMiddleOneAsMedian) {
  EXPECT_DOUBLE_EQ(SpreadOf(Values{4.0, 1.0, 10.0}).value().median, 4);
}

TEST(SpreadOf, MissingValueGivesNoSpread) { EXPECT_FALSE(SpreadOf(Values{1.0, std::nullopt})); }

TEST(ChanceOf, CountsTheSignsOfPairs) {
  EXPECT_DOUBLE_EQ(ChanceOf(std::vector{0.3}), 1);
  EXPECT_DOUBLE_EQ(ChanceOf(std::vector{0.3, 0.1}), 0.5);
  EXPECT_DOUBLE_EQ(ChanceOf(std::vector{-0.3, -0.1, -0.2}), 0.25);
  EXPECT_DOUBLE_EQ(ChanceOf(std::vector{1.0, 1.0, 1.0, 1.0, 1.0}), 2.0 / 32);
  // In 4 of the 8 choices of signs the sum is at least as far from 0.
  EXPECT_DOUBLE_EQ(ChanceOf(std::vector{1.0, 2.0, -0.5}), 0.5);
  EXPECT_DOUBLE_EQ(ChanceOf(std::vector{0.0, 0.0, 0.0}), 1);
  EXPECT_DOUBLE_EQ(ChanceOf(std::vector{0.1, -0.1}), 1);
}

TEST(ChanceOf, IsEstimatedWithManyPairs) {
  std::vector<double> mixed(30, 1.0);
  for (std::size_t i = 0; i < 10; ++i) mixed[i] = -1;
  EXPECT_NEAR(ChanceOf(mixed), 0.0987, 0.002);  // binomial: 20 or more, or 10 or fewer, of 30
  EXPECT_LT(ChanceOf(std::vector<double>(70, 1.0)), 1e-5);
}

}  // namespace
}  // namespace tandem
