#include <gtest/gtest.h>

#include <numeric>
#include <tuple>
#include <vector>

#include "domain/states_as_text.h"
#include "support/breadth_first.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

const std::string kToUsualGoal = " -> 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 0";

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

// The depths are those of Korf and Schultze, "Large-scale parallel breadth-first search", AAAI
// 2005.
TEST(NPuzzle, BoardsThatAreNotSquareHaveTheKnownStatesAndDepth) {
  for (const auto& [name, states, depth] : std::vector<std::tuple<std::string, std::size_t, int>>{
           {"npuzzle:2x3", 360, 21}, {"npuzzle:3x2", 360, 21}, {"npuzzle:2x4", 20'160, 36}}) {
    const std::vector<std::size_t> levels =
        CountLevels(*MakeDomain(name), 1000, [](auto state) { return KeyInBase(state, 9); });
    EXPECT_EQ(std::accumulate(levels.begin(), levels.end(), std::size_t{0}), states) << name;
    EXPECT_EQ(std::ssize(levels) - 1, depth) << name;
  }
}

TEST(NPuzzle, TellsTheGoalOfABoardThatIsNotSquareIfItHasOne) {
  EXPECT_EQ(After("npuzzle:2x4", "0 1 2 3 4 5 6 7", ""), "1 2 3 4 5 6 7 0");
  EXPECT_EQ(After("npuzzle:2x3", "0 1 2 3 4 5 -> 0 1 2 3 4 5", ""), "1 2 3 4 5 0");
  EXPECT_NE(After("npuzzle:2x3", "0 1 2 3 4 5", ""), "1 2 3 4 5 0");
  EXPECT_EQ(ErrorFor("npuzzle:2x3", "1 2 3"),
            "a 2x3 board has 6 numbers separated by spaces, found 3");
}

TEST(NPuzzle, RejectsTextThatIsNotABoard) {
  EXPECT_EQ(ErrorFor("npuzzle:4", "1 2 3"),
            "a 4x4 board has 16 numbers separated by spaces, found 3");
  EXPECT_EQ(
      ErrorFor("npuzzle:4", "1 2 3 4 5 6 7 8 0"),
      "a 4x4 board has 16 numbers separated by spaces, found 9, as on the 3x3 board of npuzzle:3");
  EXPECT_EQ(ErrorFor("npuzzle:3", "7 1 2 3 4 5 6 7 8 0"),
            "a 3x3 board has 9 numbers separated by spaces, found 10; is the first one the line's "
            "number?");
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

// The board of 4 x 4 would be understood to have the other goal if its goal were not given.
TEST(NPuzzle, RejectsABoardThatNoSlidesSolve) {
  for (const char* swapped : {"2 1 3 4 5 6 7 8 0", "1 2 3 4 5 6 8 7 0", "0 2 1 4 5 3 7 8 6"}) {
    EXPECT_TRUE(ErrorFor("npuzzle:3", swapped).starts_with("two tiles are swapped: ")) << swapped;
  }
  EXPECT_EQ(ErrorFor("npuzzle:4", "1 2 3 4 5 6 7 8 9 10 11 12 13 15 14 0" + kToUsualGoal),
            "two tiles are swapped: no slides lead to the goal 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 "
            "0; is it 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15?; check the numbers, or take any two "
            "tiles out of the board and exchange them");
}

TEST(NPuzzle, ReadsNumbersAsProgramsWriteThem) {
  const std::string expected = "1 2 3 4 5 6 7 0 8";
  for (const char* text :
       {"1,2,3,4,5,6,7,0,8", "1 2 3 4 5 6 7 _ 8", "[1, 2, 3, 4, 5, 6, 7, 0, 8]",
        "[[1,2,3],[4,5,6],[7,0,8]]", "(1, 2, 3, 4, 5, 6, 7, 0, 8)", "1;2;3;4;5;6;7;_;8",
        "1 2 3\n4 5 6\r\n7 _ 8\n", "{{1,2,3},{4,5,6},{7,0,8}}"}) {
    EXPECT_EQ(After("npuzzle:3", text, ""), expected) << text;
  }
  EXPECT_EQ(ErrorFor("npuzzle:3", "1 2 3 4 5 6 7 _ 0"),
            "the blank, 0, occurs twice, as number 8 and number 9, and tile 8 is missing");
}

// The first of Korf's hundred 15-puzzles. Its goal has the blank first.
TEST(NPuzzle, UnderstandsTheGoalWithTheBlankFirstIfNoSlidesLeadToTheUsualOne) {
  const std::string korf = "14 13 15 7 11 12 9 5 6 0 2 1 4 8 10 3";
  EXPECT_EQ(After("npuzzle:4", korf, ""), "13 6 8 12 15 14 0 10 11 7 4 5 9 1 3 2");
  EXPECT_TRUE(MakeDomain("npuzzle:4")
                  ->Reading(korf)
                  .starts_with("the goal is 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; the board is "
                               "turned by 180 degrees"));
  EXPECT_EQ(MakeDomain("npuzzle:4")->Reading("1 2 3 4 5 6 7 8 9 10 11 12 13 14 0 15"), "");
  EXPECT_EQ(
      After("npuzzle:6",
            "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 "
            "25 26 27 28 29 30 31 32 33 34 35",
            ""),
      "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 "
      "33 34 35 0");
}

TEST(NPuzzle, AStateMaySayItsGoal) {
  const std::string usual = " -> 1,2,3,4,5,6,7,8,0";
  const std::string other = " -> _ 1 2 3 4 5 6 7 8";
  const std::string state = "0 2 1 4 3 5 6 7 8";
  const auto domain = MakeDomain("npuzzle:3");
  EXPECT_EQ(After("npuzzle:3", state, ""), state);
  EXPECT_EQ(After("npuzzle:3", state + usual, ""), state);
  EXPECT_EQ(After("npuzzle:3", state + other, ""), "1 2 3 4 6 5 8 7 0");
  EXPECT_EQ(domain->Reading(state),
            "the goal is 1 2 3 4 5 6 7 8 0; if it is 0 1 2 3 4 5 6 7 8, write each state as STATE "
            "-> 0 1 2 3 4 5 6 7 8");
  EXPECT_EQ(domain->Reading(state + usual), "");
  EXPECT_TRUE(domain->Reading(state + other).starts_with("the goal is 0 1 2 3 4 5 6 7 8; "));
  EXPECT_EQ(ErrorFor("npuzzle:3", state + " -> 1 2 3 8 0 4 7 6 5"),
            "the goal after '->' is 1 2 3 8 0 4 7 6 5, expected 1 2 3 4 5 6 7 8 0 or 0 1 2 3 4 5 6 "
            "7 8");
}

// On the board as it was written, the tile on the right of the blank slides left.
TEST(NPuzzle, MovesOfATurnedBoardAreNamedAsItWasWritten) {
  const auto domain = MakeDomain("npuzzle:4");
  const std::string written = "1 0 2 3 4 5 6 7 8 9 10 11 12 13 14 15";
  const std::vector<Action> right = domain->ParseMoves("R", written);
  EXPECT_EQ(FormatActions(domain->spec(), right), "L");
  EXPECT_EQ(domain->FormatMoves(right, written), "R");
  std::vector<std::uint8_t> state(16);
  domain->ParseState(written, state);
  domain->Apply(Rows(std::span(state)), right);
  EXPECT_TRUE(IsGoal(*domain, state));
  EXPECT_EQ(domain->FormatMoves(right, domain->FormatState(state)), "L");
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
      EXPECT_NE(ErrorFor("npuzzle:4", domain->FormatState(swapped) + kToUsualGoal), "");
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
