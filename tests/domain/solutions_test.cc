// Runs the tests' own solvers on a few states of each published test set; long/ runs all of them.
#include "support/solutions.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(FewSolutions, OfIndependentSolversSolveTiles) {
  CheckTiles(FewPublished("puzzle15"), 4, 2);
  CheckTiles(FewPublished("puzzle24"), 5, 3);
  CheckTiles(FewPublished("puzzle35"), 6, 6);
  CheckTiles(FewPublished("puzzle48"), 7, 10);
}

TEST(FewSolutions, OfIndependentSolversSolveCubes) { CheckCubes(FewPublished("cube3")); }

TEST(FewSolutions, OfIndependentSolversSolveSokoban) { CheckSokoban(FewPublished("sokoban")); }

}  // namespace
}  // namespace tandem
