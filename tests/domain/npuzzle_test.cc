#include <gtest/gtest.h>

#include <numeric>

#include "domain/states_as_text.h"
#include "support/breadth_first.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

TEST(NPuzzle, ActionsAreNamedAfterTheMoveOfTheTile) {
  const std::string middle = "1 2 3 4 0 5 7 8 6";
  EXPECT_EQ(After("npuzzle:3", middle, "U"), "1 2 3 4 8 5 7 0 6");
  EXPECT_EQ(After("npuzzle:3", middle, "D"), "1 0 3 4 2 5 7 8 6");
  EXPECT_EQ(After("npuzzle:3", middle, "L"), "1 2 3 4 5 0 7 8 6");
  EXPECT_EQ(After("npuzzle:3", middle, "R"), "1 2 3 0 4 5 7 8 6");
  EXPECT_EQ(After("npuzzle:3", middle, "L U"), "1 2 3 4 5 6 7 8 0");
}

TEST(NPuzzle, ActionsOffTheBoardChangeNothing) {
  const std::string goal = "1 2 3 4 5 6 7 8 0";
  EXPECT_EQ(After("npuzzle:3", goal, "U"), goal);
  EXPECT_EQ(After("npuzzle:3", goal, "L"), goal);
  const std::string corner = After("npuzzle:3", goal, "D D R R");
  EXPECT_EQ(corner, "0 1 2 4 5 3 7 8 6");
  EXPECT_EQ(After("npuzzle:3", corner, "D"), corner);
  EXPECT_EQ(After("npuzzle:3", corner, "R"), corner);
}

TEST(NPuzzle, The8PuzzleHasTheKnownStatesAndDepth) {
  const std::vector<std::size_t> levels =
      CountLevels(*MakeDomain("npuzzle:3"), 1000, [](auto state) { return KeyInBase(state, 9); });
  EXPECT_EQ(std::accumulate(levels.begin(), levels.end(), std::size_t{0}), 181'440U);
  EXPECT_EQ(levels.size() - 1, 31U);
  EXPECT_EQ(levels.back(), 2U);
}

TEST(NPuzzle, The15PuzzleHasTheKnownStatesNearTheGoal) {
  const std::vector<std::size_t> levels =
      CountLevels(*MakeDomain("npuzzle:4"), 10, [](auto state) { return KeyInBase(state, 16); });
  EXPECT_EQ(levels, (std::vector<std::size_t>{1, 2, 4, 10, 24, 54, 107, 212, 446, 946, 1948}));
}

TEST(NPuzzle, RejectsTextThatIsNotABoard) {
  EXPECT_EQ(ErrorFor("npuzzle:4", "1 2 3"),
            "a 4x4 board has 16 numbers separated by spaces, found 3");
  EXPECT_EQ(
      ErrorFor("npuzzle:4", "1 2 3 4 5 6 7 8 0"),
      "a 4x4 board has 16 numbers separated by spaces, found 9, as on the 3x3 board of npuzzle:3");
  EXPECT_EQ(ErrorFor("npuzzle:3", "1 2 3 4 5 6 7 8 9"),
            "number 9 is '9', expected a whole number from 0 to 8");
  EXPECT_EQ(ErrorFor("npuzzle:3", "1 2 x 4 5 6 7 8 0"),
            "number 3 is 'x', expected a whole number from 0 to 8");
  EXPECT_EQ(ErrorFor("npuzzle:3", "1 2 \xff 4 5 6 7 8 0"),
            "number 3 is not printable, expected a whole number from 0 to 8");
  EXPECT_EQ(ErrorFor("npuzzle:3", "1 2 3 4 5 6 7 -8 0"),
            "number 8 is '-8', expected a whole number from 0 to 8");
  EXPECT_EQ(ErrorFor("npuzzle:3", "1 2 3 4 5 6 7 3 0"),
            "tile 3 occurs twice, as number 3 and number 8, and tile 8 is missing");
  EXPECT_EQ(ErrorFor("npuzzle:3", "1 2 3 4 5 6 7 8 8"),
            "tile 8 occurs twice, as number 8 and number 9, and the blank, 0, is missing");
}

TEST(NPuzzle, RejectsABoardThatNoSlidesSolve) {
  for (const char* swapped : {"2 1 3 4 5 6 7 8 0", "1 2 3 4 5 6 8 7 0", "0 2 1 4 5 3 7 8 6"}) {
    EXPECT_TRUE(ErrorFor("npuzzle:3", swapped).starts_with("two tiles are swapped: ")) << swapped;
  }
  EXPECT_TRUE(ErrorFor("npuzzle:4", "1 2 3 4 5 6 7 8 9 10 11 12 13 15 14 0")
                  .starts_with("two tiles are swapped: "));
}

TEST(NPuzzle, RejectsASwapOfAnyTwoTiles) {
  const std::string board = "9 1 7 4 5 10 8 14 15 6 2 11 13 0 12 3";
  EXPECT_EQ(ErrorFor("npuzzle:4", board), "");
  const auto domain = MakeDomain("npuzzle:4");
  std::vector<std::uint8_t> state(16);
  domain->ParseState(board, state);
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (state[i] == 0 || state[j] == 0) continue;
      std::vector<std::uint8_t> swapped = state;
      std::swap(swapped[i], swapped[j]);
      EXPECT_NE(ErrorFor("npuzzle:4", domain->FormatState(swapped)), "");
    }
  }
}

TEST(NPuzzle, DrawsAGrid) {
  const auto domain = MakeDomain("npuzzle:4");
  std::vector<std::uint8_t> goal(16);
  domain->WriteGoals(Rows(std::span(goal)));
  EXPECT_EQ(ToTerminal(domain->Draw(goal), /*colour=*/false),
            "  1  2  3  4\n"
            "  5  6  7  8\n"
            "  9 10 11 12\n"
            " 13 14 15  .\n");
}

}  // namespace
}  // namespace tandem
