// Enumerates every state of a puzzle, and runs the tests' own solvers on all states of the
// published test sets, if the sets are present.
#include <gtest/gtest.h>

#include "support/breadth_first.h"
#include "support/solutions.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

TEST(Cube2, HasTheKnownNumberOfStatesAndDepth) {
  const auto levels =
      CountLevels(*MakeDomain("cube2"), 1000, [](auto state) { return KeyInBase(state, 6); });
  EXPECT_EQ(levels, (std::vector<std::size_t>{1, 6, 27, 120, 534, 2256, 8969, 33'058, 114'149,
                                              360'508, 930'588, 1'350'852, 782'536, 90'280, 276}));
}

class AllSolutions : public testing::Test {
 protected:
  // Skips the test if the sets are missing.
  void SetUp() override {
    if (AllPublished("cube3").empty()) GTEST_SKIP() << "the published test sets are missing";
  }
};

TEST_F(AllSolutions, OfIndependentSolversSolve15Puzzles) {
  CheckTiles(AllPublished("puzzle15"), 4, 2);
}
TEST_F(AllSolutions, OfIndependentSolversSolve24Puzzles) {
  CheckTiles(AllPublished("puzzle24"), 5, 3);
}
TEST_F(AllSolutions, OfIndependentSolversSolve35Puzzles) {
  CheckTiles(AllPublished("puzzle35"), 6, 6);
}
TEST_F(AllSolutions, OfIndependentSolversSolve48Puzzles) {
  CheckTiles(AllPublished("puzzle48"), 7, 10);
}
TEST_F(AllSolutions, OfIndependentSolversSolveCubes) { CheckCubes(AllPublished("cube3")); }
TEST_F(AllSolutions, OfIndependentSolversSolveSokoban) { CheckSokoban(AllPublished("sokoban")); }

}  // namespace
}  // namespace tandem
