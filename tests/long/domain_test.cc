// Enumerates every state of a puzzle, and runs the tests' own solvers on all states of the
// published test sets.
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

TEST(AllSolutions, OfIndependentSolversSolve15Puzzles) {
  CheckTiles(AllPublished("puzzle15"), 4, 2);
}
TEST(AllSolutions, OfIndependentSolversSolve24Puzzles) {
  CheckTiles(AllPublished("puzzle24"), 5, 3);
}
TEST(AllSolutions, OfIndependentSolversSolve35Puzzles) {
  CheckTiles(AllPublished("puzzle35"), 6, 6);
}
TEST(AllSolutions, OfIndependentSolversSolve48Puzzles) {
  CheckTiles(AllPublished("puzzle48"), 7, 10);
}
TEST(AllSolutions, OfIndependentSolversSolveCubes) { CheckCubes(AllPublished("cube3")); }
TEST(AllSolutions, OfIndependentSolversSolveSokoban) { CheckSokoban(AllPublished("sokoban")); }

}  // namespace
}  // namespace tandem
