// Compares Lights Out, the Towers of Hanoi, the maze and Sokoban with known states and numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "domain/states_as_text.h"
#include "support/breadth_first.h"
#include "support/published_states.h"
#include "support/small_puzzles.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

TEST(LightsOut, APressSwitchesItsNeighbours) {
  EXPECT_EQ(After("lights_out:3", "0 0 0 0 0 0 0 0 0", "4"), "0 1 0 1 1 1 0 1 0");
  EXPECT_EQ(After("lights_out:3", "0 0 0 0 0 0 0 0 0", "0"), "1 1 0 1 0 0 0 0 0");
  EXPECT_EQ(After("lights_out:3", "0 0 0 0 0 0 0 0 0", "8 8"), "0 0 0 0 0 0 0 0 0");
}

// One 4 x 4 board in 16 can be solved, and every 3 x 3 board.
TEST(LightsOut, RejectsExactlyTheBoardsThatNoPressesSolve) {
  for (const auto& [size, solvable] : {std::pair{3, 512}, {4, 4096}}) {
    const std::string name = "lights_out:" + std::to_string(size);
    const auto levels =
        CountLevels(*MakeDomain(name), 30, [](auto state) { return KeyInBase(state, 2); });
    EXPECT_EQ(std::accumulate(levels.begin(), levels.end(), std::size_t{0}), solvable);
    int accepted = 0;
    for (int bits = 0; bits < 1 << (size * size); ++bits) {
      std::string text;
      for (int i = 0; i < size * size; ++i) text += (bits >> i & 1) != 0 ? "1 " : "0 ";
      if (ErrorFor(name, text).empty()) ++accepted;
    }
    EXPECT_EQ(accepted, solvable);
  }
}

// The solution of a 7 x 7 board is unique, so a published length can be checked. The test tries
// every first row of presses; each later row must press the cells below those that are still lit.
TEST(LightsOut, PublishedLengthsMatchTheUniqueSolution) {
  const auto domain = MakeDomain("lights_out:7");
  for (const auto& [text, length, optimal] : AllPublished("lightsout7")) {
    State start(49);
    domain->ParseState(text, start);
    int solutions = 0;
    for (int guess = 0; guess < 128; ++guess) {
      State state = start;
      std::vector<Action> presses;
      for (std::size_t cell = 0; cell < 49; ++cell) {
        const bool press = cell < 7 ? (guess >> cell & 1) != 0 : state[cell - 7] != 0;
        if (!press) continue;
        presses.push_back(static_cast<Action>(cell));
        domain->Apply(Rows(std::span(state)), {&presses.back(), 1});
      }
      if (!Solves(*domain, start, presses)) continue;
      ++solutions;
      EXPECT_TRUE(optimal);
      EXPECT_EQ(std::ssize(presses), length) << text;
    }
    EXPECT_EQ(solutions, 1) << text;
  }
}

TEST(Hanoi, TowerNeedsTheKnownNumberOfMoves) {
  for (const int discs : {3, 6}) {
    const auto domain = MakeDomain("hanoi:" + std::to_string(discs));
    const StateMap distances = Distances(*domain);
    EXPECT_EQ(distances.size(), static_cast<std::size_t>(std::pow(3, discs)));
    EXPECT_EQ(distances.at(State(static_cast<std::size_t>(discs), 0)), (1 << discs) - 1);
  }
}

TEST(Hanoi, MovesNeverPutADiscOnASmallerDisc) {
  EXPECT_EQ(After("hanoi:3", "0 0 0", "02 01"), "2 1 0");
  EXPECT_EQ(After("hanoi:3", "2 0 0", "02"), "2 0 0");
  EXPECT_EQ(ErrorFor("hanoi:3", "0 3 0"), "number 2 is '3', expected a whole number from 0 to 2");
  EXPECT_EQ(ErrorFor("hanoi:3", "0 1"), "expected 3 numbers separated by spaces, found 2");
}

TEST(Grid, WalksInEightDirectionsButNotAroundCorners) {
  const std::string start = "#####\n#@ .#\n# # #\n#   #\n#####";
  EXPECT_EQ(After("grid:5", start, "r r"), "#####\n#  +#\n# # #\n#   #\n#####");
  EXPECT_EQ(After("grid:5", start, "dr"), start);
  EXPECT_EQ(After("grid:5", start, "r dr"), "#####\n# @.#\n# # #\n#   #\n#####");
  EXPECT_EQ(After("grid:5", "#####\n#@  #\n#  .#\n#   #\n#####", "dr"),
            "#####\n#   #\n# @.#\n#   #\n#####");
}

TEST(Grid, ErrorSaysWhatIsWrong) {
  EXPECT_EQ(ErrorFor("grid:5", "#####\n#@x.#"),
            "line 2, column 3 is 'x', expected one of ' ' '#' '.' '@' '+'");
  EXPECT_EQ(ErrorFor("grid:5", "######"), "line 1 has 6 cells, expected at most 5");
  EXPECT_EQ(ErrorFor("grid:5", "#@.@#"), "line 1, column 4 has a second player, expected one");
  EXPECT_EQ(ErrorFor("grid:5", "#..@#"), "there are 2 goals, expected one '.' or '+'");
  EXPECT_EQ(ErrorFor("grid:5", "#. @#\n#####\n"), "");
  EXPECT_EQ(ErrorFor("grid:5", "#.#@#"),
            "the goal cannot be reached: walls separate it from the walker");
}

TEST(Sokoban, PushesOneBox) {
  EXPECT_EQ(After("sokoban:5", "#####\n#@$.#\n#####", "r"), "#####\n# @*#\n#####\n#####\n#####");
  EXPECT_EQ(After("sokoban:5", "#####\n#@$.#\n#####", "r r l"),
            "#####\n#@ *#\n#####\n#####\n#####");
  const std::string two = "#####\n@$$.#\n#. ##\n#####\n#####";
  EXPECT_EQ(After("sokoban:5", two, "r"), two);
  EXPECT_EQ(After("sokoban:5", "#####\n#+$ #\n#####", "r"), "#####\n#.@$#\n#####\n#####\n#####");
  // Cells outside the board are walls, and a row does not continue in the next one.
  EXPECT_EQ(After("sokoban:5", "    @\n$   .\n#####", "r"), "    @\n$   .\n#####\n#####\n#####");
}

TEST(Sokoban, ReadsOtherFloorsRunLengthsAndWideMargins) {
  const std::string level = "#####\n#@$.#\n# # #\n#####\n#####";
  for (const char* text :
       {"#####\n#@$.#\n#-#_#\n#####", "5#|#@$.#|#-#-#|5#", "5#\n#@$.#\n#-#-#\n5#\n",
        "##### \n#@$.#  \n# # #\n#####--", "   #####\n   #@$.#\n   # # #\n   #####"}) {
    EXPECT_EQ(After("sokoban:5", text, ""), level) << text;
  }
  EXPECT_EQ(ErrorFor("sokoban:5", "#@$.#5"), "the number 5 is not followed by a letter");
  EXPECT_EQ(ErrorFor("sokoban:5", "99999999#"), "run lengths make more than 1000000 letters");
}

TEST(Sokoban, TellsRowsFromTitles) {
  const auto domain = MakeDomain("sokoban:5");
  for (const char* row : {"#####", "  ###  ", "#-@_#", "5#", "3-2#|#@$.#", "@ .", "#@x.#"}) {
    EXPECT_TRUE(domain->IsStateLine(row)) << row;
  }
  for (const char* text : {"1", "; 2", "Title: First", "Level #3", "Author: nobody", "'Easy'",
                           "---", "# a comment", "12 3"}) {
    EXPECT_FALSE(domain->IsStateLine(text)) << text;
  }
}

TEST(Sokoban, ReadsAndWritesLurd) {
  const auto domain = MakeDomain("sokoban:7");
  const std::string level = "#######\n#     #\n#@ $ .#\n#######";
  const std::vector<Action> actions = domain->ParseMoves("u 2r d l R3r", "");
  EXPECT_EQ(FormatActions(domain->spec(), actions), "u r r d l r r r r");
  EXPECT_EQ(domain->FormatMoves(domain->ParseMoves("rRRl", ""), level), "rRRl");
  EXPECT_EQ(domain->FormatMoves(domain->ParseMoves("r r r l", ""), level), "rRRl");
  EXPECT_THROW(domain->ParseMoves("rx", ""), InputError);
}

TEST(Sokoban, ErrorSaysWhatIsWrong) {
  EXPECT_EQ(ErrorFor("sokoban:5", "#@ .#"), "there is no box, expected at least one '$' or '*'");
  EXPECT_EQ(ErrorFor("sokoban:5", "#@$$.\n"),
            "there are 2 boxes and 1 goals, expected a goal for every box");
  EXPECT_EQ(ErrorFor("sokoban:5", "#$ .#"), "there is no player, expected one '@' or '+'");
  EXPECT_EQ(ErrorFor("sokoban:5", "#\n#\n#\n#\n#\n#"),
            "line 6 is one too many, expected at most 5");
}

TEST(Boards, MayHaveRowsAndColumnsThatDiffer) {
  EXPECT_EQ(After("lights_out:2x3", "0 0 0 0 0 0", "2 3"), "1 1 1 1 1 1");
  EXPECT_EQ(After("sokoban:5x8", "########\n#@ $  .#\n########", "r r r r"),
            "########\n#    @*#\n########\n########\n########");
  EXPECT_EQ(After("grid:6x5", "#####\n#@ .#", "dr"), "#####\n#@ .#\n#####\n#####\n#####\n#####");
  EXPECT_EQ(ErrorFor("sokoban:5x8", "#########"), "line 1 has 9 cells, expected at most 8");
  EXPECT_EQ(ErrorFor("sokoban:5x8", "#\n#\n#\n#\n#\n#"),
            "line 6 is one too many, expected at most 5");
  EXPECT_EQ(MakeDomain("sokoban:5x8")->spec().board->columns, 8);
}

TEST(Boards, SpecGivesTheShapeOfTheBoard) {
  for (const char* name : {"lights_out:5", "grid:5", "npuzzle:5", "sokoban:5"}) {
    const auto domain = MakeDomain(name);
    ASSERT_TRUE(domain->spec().board.has_value()) << name;
    EXPECT_EQ(domain->spec().board->rows, 5) << name;
    EXPECT_EQ(domain->spec().board->columns, 5) << name;
  }
  EXPECT_FALSE(MakeDomain("cube3")->spec().board.has_value());
}

}  // namespace
}  // namespace tandem
