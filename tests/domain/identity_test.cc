// Networks and examples of one puzzle must not be used for another.
#include "domain/identity.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(Identity, DifferentNamesAreDifferentPuzzles) {
  EXPECT_TRUE(IsSameDomain("npuzzle:3", "npuzzle:3"));
  EXPECT_FALSE(IsSameDomain("npuzzle:3", "npuzzle:4"));
  EXPECT_FALSE(IsSameDomain("cube3", "cube3:pieces"));
  EXPECT_EQ(DescribeOtherDomain("npuzzle:3", "npuzzle:4"),
            "made for npuzzle:3, expected npuzzle:4");
}

TEST(Identity, RulesFromAFileDecideWhateverItsPath) {
  EXPECT_TRUE(IsSameDomain("permutation:my.yaml@1", "permutation:/home/me/my.yaml@1"));
  EXPECT_FALSE(IsSameDomain("permutation:my.yaml@1", "permutation:my.yaml@2"));
  EXPECT_FALSE(IsSameDomain("permutation:my.yaml@1", "other:my.yaml@1"));
  EXPECT_FALSE(IsSameDomain("permutation:my.yaml@1", "permutation:my.yaml"));
  EXPECT_FALSE(IsSameDomain("npuzzle:3@1", "npuzzle:4@1"));  // sizes, not files
  EXPECT_EQ(DescribeOtherDomain("permutation:my.yaml@1", "permutation:/home/me/my.yaml@2"),
            "made for permutation:my.yaml with other rules (moves, costs or goal)");
  EXPECT_EQ(DescribeOtherDomain("permutation:a.yaml@1", "permutation:b.yaml@2"),
            "made for permutation:a.yaml, expected permutation:b.yaml");
}

}  // namespace
}  // namespace tandem
