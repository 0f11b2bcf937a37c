// Checks the permutations of puzzles: they must generate a group of the known order.
#include "support/group_order.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tandem/registry.h"

namespace tandem {
namespace {

// Finds the permutations by moving distinct numbers, whatever the labels are.
std::vector<Permutation> PermutationsOf(const Domain& domain) {
  std::vector<Permutation> all;
  for (Action action = 0; action < domain.spec().num_actions(); ++action) {
    std::vector<std::uint8_t> numbers(static_cast<std::size_t>(domain.spec().state_size));
    std::iota(numbers.begin(), numbers.end(), std::uint8_t{0});
    domain.Apply(Rows(std::span(numbers)), {&action, 1});
    all.emplace_back(numbers.begin(), numbers.end());
  }
  return all;
}

Factors OrderOf(const std::string& name) {
  return PermutationGroup(PermutationsOf(*MakeDomain(name))).Order();
}

TEST(GroupOrder, OfSmallPuzzlesIsTheirKnownNumberOfStates) {
  EXPECT_EQ(OrderOf("permutation:lrx"), Factors().TimesFactorial(8));
  EXPECT_EQ(OrderOf("permutation:pyraminx"), Factors().Times(933'120).Times(3, 4));  // 4 tips
  EXPECT_EQ(OrderOf("cube2"), Factors().Times(3'674'160));
}

TEST(GroupOrder, TopSpinReachesEveryArrangement) {
  EXPECT_EQ(OrderOf("permutation:topspin"), Factors().TimesFactorial(20));
}

// 8 corners and 12 edges. Twists and flips sum to zero, and the two permutations are both even or
// both odd.
TEST(GroupOrder, OfRubiksCubeIsTheKnownNumber) {
  const Factors known =
      Factors().TimesFactorial(8).Times(3, 7).TimesFactorial(12).Times(2, 11).Times(2, -1);
  EXPECT_EQ(OrderOf("cube3"), known);
  EXPECT_EQ(OrderOf("cube3_htm"), known);
}

// 7 corners move, and 24 wings that cannot flip. The permutations of the 24 centres and of the
// corners are both even or both odd.
TEST(GroupOrder, OfCube4IsTheKnownNumber) {
  EXPECT_EQ(
      OrderOf("permutation:cube4"),
      Factors().TimesFactorial(7).Times(3, 6).TimesFactorial(24).TimesFactorial(24).Times(2, -1));
}

// Rubik's Cube, and quarter turns of six centres, which are even or odd with the permutations.
TEST(GroupOrder, OfPictureCubeIsTheKnownNumber) {
  EXPECT_EQ(OrderOf("permutation:picture_cube"), Factors()
                                                     .TimesFactorial(8)
                                                     .Times(3, 7)
                                                     .TimesFactorial(12)
                                                     .Times(2, 11)
                                                     .Times(2, -1)
                                                     .Times(4, 6)
                                                     .Times(2, -1));
}

// 4 corners that twist, 4 centres, 6 middle edges that flip, and thrice 12 pieces, each with even
// permutations. PuzzleGeometry's definition of this puzzle generates a group of this order too.
TEST(GroupOrder, OfProfessorTetraminxIsTheKnownNumber) {
  EXPECT_EQ(OrderOf("permutation:professor_tetraminx"), Factors()
                                                            .Times(3, 4)
                                                            .Times(12)
                                                            .TimesFactorial(6)
                                                            .Times(2, -1)
                                                            .Times(2, 5)
                                                            .TimesFactorial(12)
                                                            .TimesFactorial(12)
                                                            .TimesFactorial(12)
                                                            .Times(2, -3));
}

// 20 corners and 30 edges, each with even permutations.
TEST(GroupOrder, OfMegaminxIsTheKnownNumber) {
  EXPECT_EQ(
      OrderOf("permutation:megaminx"),
      Factors().TimesFactorial(20).Times(2, -1).Times(3, 19).TimesFactorial(30).Times(2, -1).Times(
          2, 29));
}

}  // namespace
}  // namespace tandem
