#include <gtest/gtest.h>

#include "domain/moves.h"
#include "support/path_domain.h"
#include "support/ring_domain.h"
#include "support/small_puzzles.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

// The moves exchange the numbers of separate pairs, so they commute.
class SeparateSwaps final : public RowPuzzle {
 public:
  SeparateSwaps() : RowPuzzle("swaps", 6, 1, {{1, 0, 2, 3, 4, 5}, {0, 1, 3, 2, 4, 5}}) {}
};

TEST(Commute, ButtonsOfLightsOutCommuteAndUndoThemselves) {
  for (const char* name : {"lights_out:2", "lights_out:5", "lights_out:7"}) {
    EXPECT_TRUE(CommuteAndUndoThemselves(*MakeDomain(name))) << name;
  }
  EXPECT_TRUE(CommuteAndUndoThemselves(SeparateSwaps()));
}

TEST(Commute, PuzzlesWhoseOrderOfActionsMattersOrThatHaveOtherInversesDoNot) {
  for (const char* name : {"cube3", "cube2", "npuzzle:3", "hanoi:4", "sokoban:7"}) {
    EXPECT_FALSE(CommuteAndUndoThemselves(*MakeDomain(name))) << name;
  }
  EXPECT_FALSE(CommuteAndUndoThemselves(PancakeDomain(4)));  // undo themselves, do not commute
  EXPECT_FALSE(CommuteAndUndoThemselves(RingDomain(9)));     // commute, do not undo themselves
  EXPECT_FALSE(CommuteAndUndoThemselves(PathDomain(5)));     // do not always apply
}

}  // namespace
}  // namespace tandem
