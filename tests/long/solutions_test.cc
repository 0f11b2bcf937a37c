// Runs the tests' own solvers on all states of the published test sets, if the sets are present.
#include "support/solutions.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

class AllSolutions : public testing::Test {
 protected:
  // Skips the test if the sets are missing.
  void SetUp() override {
    if (AllPublished("cube3").empty()) GTEST_SKIP() << "the published test sets are missing";
  }
};

TEST_F(AllSolutions, Of15Puzzles) { CheckTiles(AllPublished("puzzle15"), 4, 2); }
TEST_F(AllSolutions, Of24Puzzles) { CheckTiles(AllPublished("puzzle24"), 5, 3); }
TEST_F(AllSolutions, Of35Puzzles) { CheckTiles(AllPublished("puzzle35"), 6, 6); }
TEST_F(AllSolutions, Of48Puzzles) { CheckTiles(AllPublished("puzzle48"), 7, 10); }
TEST_F(AllSolutions, OfCubes) { CheckCubes(AllPublished("cube3")); }
TEST_F(AllSolutions, OfSokoban) { CheckSokoban(AllPublished("sokoban")); }

}  // namespace
}  // namespace tandem
