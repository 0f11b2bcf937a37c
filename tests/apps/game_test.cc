#include "apps/game.h"

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

class GameOnAPath : public testing::Test {
 protected:
  const PitsDomain domain_{4};
  Game game_{domain_, {2}};
};

TEST_F(GameOnAPath, StartsWithoutMoves) {
  EXPECT_THAT(game_.state(), ElementsAre(2));
  EXPECT_EQ(game_.moves(), 0);
  EXPECT_EQ(game_.cost(), 0);
  EXPECT_FALSE(game_.solved());
}

TEST_F(GameOnAPath, MovesToTheGoalAreCountedWithTheirCosts) {
  EXPECT_EQ(game_.Move(std::vector<Action>{kLeft, kLeft}), 2);
  EXPECT_TRUE(game_.solved());
  EXPECT_EQ(game_.moves(), 2);
  EXPECT_EQ(game_.cost(), 2);
}

TEST_F(GameOnAPath, StopsAtTheFirstMoveThatDoesNotApply) {
  EXPECT_EQ(game_.Move(std::vector<Action>{kRight, kRight, kLeft}), 1);
  EXPECT_THAT(game_.state(), ElementsAre(3));
  EXPECT_EQ(game_.moves(), 1);
}

TEST_F(GameOnAPath, UndoesAMoveThatHasNoInverse) {
  game_.Move(std::vector<Action>{kRight, kDrop});
  EXPECT_TRUE(domain_.IsPit(game_.state()));
  EXPECT_EQ(game_.Undo(1), 1);
  EXPECT_THAT(game_.state(), ElementsAre(3));
  EXPECT_EQ(game_.cost(), 1);
}

TEST_F(GameOnAPath, UndoesNoMoreMovesThanThereAre) {
  game_.Move(std::vector<Action>{kLeft, kRight});
  EXPECT_EQ(game_.Undo(5), 2);
  EXPECT_THAT(game_.state(), ElementsAre(2));
  EXPECT_EQ(game_.Undo(1), 0);
}

TEST_F(GameOnAPath, ANewStartHasNoMovesToUndo) {
  game_.Move(std::vector<Action>{kLeft});
  game_.Start({3});
  EXPECT_THAT(game_.state(), ElementsAre(3));
  EXPECT_EQ(game_.Undo(1), 0);
}

}  // namespace
}  // namespace tandem
