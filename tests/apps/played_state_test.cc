#include "apps/played_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "support/pits_domain.h"

namespace tandem {
namespace {

using testing::ElementsAre;

constexpr Action kLeft = 0;
constexpr Action kRight = 1;
constexpr Action kDrop = 2;

class PlayedStateOnAPath : public testing::Test {
 protected:
  const PitsDomain domain_{4};
  PlayedState played_{domain_, {2}};
};

TEST_F(PlayedStateOnAPath, StartsWithoutMoves) {
  EXPECT_THAT(played_.state(), ElementsAre(2));
  EXPECT_EQ(played_.moves(), 0);
  EXPECT_EQ(played_.cost(), 0);
  EXPECT_FALSE(played_.solved());
}

TEST_F(PlayedStateOnAPath, MovesToTheGoalAreCountedWithTheirCosts) {
  EXPECT_EQ(played_.Move(std::vector<Action>{kLeft, kLeft}), 2);
  EXPECT_TRUE(played_.solved());
  EXPECT_EQ(played_.moves(), 2);
  EXPECT_EQ(played_.cost(), 2);
}

TEST_F(PlayedStateOnAPath, StopsAtTheFirstMoveThatDoesNotApply) {
  EXPECT_EQ(played_.Move(std::vector<Action>{kRight, kRight, kLeft}), 1);
  EXPECT_THAT(played_.state(), ElementsAre(3));
  EXPECT_EQ(played_.moves(), 1);
}

TEST_F(PlayedStateOnAPath, UndoesAMoveThatHasNoInverse) {
  played_.Move(std::vector<Action>{kRight, kDrop});
  EXPECT_TRUE(domain_.IsPit(played_.state()));
  EXPECT_EQ(played_.Undo(1), 1);
  EXPECT_THAT(played_.state(), ElementsAre(3));
  EXPECT_EQ(played_.cost(), 1);
}

TEST_F(PlayedStateOnAPath, UndoesNoMoreMovesThanThereAre) {
  played_.Move(std::vector<Action>{kLeft, kRight});
  EXPECT_EQ(played_.Undo(5), 2);
  EXPECT_THAT(played_.state(), ElementsAre(2));
  EXPECT_EQ(played_.Undo(1), 0);
}

TEST_F(PlayedStateOnAPath, ANewStartHasNoMovesToUndo) {
  played_.Move(std::vector<Action>{kLeft});
  played_.Start({3});
  EXPECT_THAT(played_.state(), ElementsAre(3));
  EXPECT_EQ(played_.Undo(1), 0);
}

}  // namespace
}  // namespace tandem
