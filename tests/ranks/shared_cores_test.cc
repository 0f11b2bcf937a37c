#include <gtest/gtest.h>

#include <limits>

#include "ranks/ranks.h"

namespace tandem {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

TEST(SharedCores, RanksWithTheSameMaskDivideItsCores) {
  EXPECT_EQ(CoresOfEach({{1, 7, 16, kNone}, {1, 7, 16, kNone}}), 8);
  EXPECT_EQ(CoresOfEach({{1, 7, 2, kNone}, {1, 7, 2, kNone}, {1, 7, 2, kNone}}), 1);
}

TEST(SharedCores, RanksThatTheLauncherBoundToTheirOwnCoresUseAllOfThem) {
  EXPECT_EQ(CoresOfEach({{1, 7, 8, kNone}, {1, 9, 8, kNone}}), 8);
}

TEST(SharedCores, RanksOfOtherMachinesShareNothing) {
  EXPECT_EQ(CoresOfEach({{1, 7, 16, kNone}, {2, 7, 16, kNone}}), 16);
  EXPECT_EQ(CoresOfEach({{1, 7, 16, 4}, {2, 7, 16, 4}}), 4);
}

TEST(SharedCores, AllRanksUseTheLeastNumber) {
  EXPECT_EQ(CoresOfEach({{1, 7, 16, kNone}, {2, 7, 4, kNone}}), 4);
}

TEST(SharedCores, AQuotaIsDividedAlsoIfRanksAreBoundToTheirOwnCores) {
  EXPECT_EQ(CoresOfEach({{1, 7, 32, 8}, {1, 9, 32, 8}}), 4);
}

}  // namespace
}  // namespace tandem
