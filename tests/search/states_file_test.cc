#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "search/problems.h"
#include "support/temp_folder.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

std::vector<Problem> Read(const char* domain, const char* text,
                          std::optional<std::int64_t> limit = std::nullopt) {
  const TempFolder temp;
  const std::filesystem::path file = temp.path() / "states.txt";
  std::ofstream(file) << text;
  return ReadStates(file, *MakeDomain(domain), limit);
}

TEST(StatesFile, BlankLinesSeparateLevels) {
  const auto lines = Read("sokoban:5",
                          "; the first\n#####\n#@$.#\r\n#####\n\n\n#####\n#.$@#\n#####\n"
                          "{\"id\": \"x\", \"state\": \"#@$.#\", \"optimal\": 1}\n\n#@.#\n");
  ASSERT_EQ(lines.size(), 4);
  EXPECT_EQ(lines[0].id, "the first");
  EXPECT_EQ(lines[0].text, "#####\n#@$.#\n#####");
  EXPECT_EQ(lines[1].text, "#####\n#.$@#\n#####");
  EXPECT_EQ(lines[2].id, "x");
  EXPECT_EQ(lines[2].optimal, 1);
  EXPECT_NE(lines[3].error.find("states.txt:12: there is no box"), std::string::npos);
  EXPECT_EQ(Read("sokoban:5", "#@$.#\n\n#.$@#\n\n#@$.#", 2).size(), 2);
}

TEST(StatesFile, LevelsHaveTheNamesOfTheirCollection) {
  const char* text =
      "Set: three small levels\n\n1\n#####\n#@$.#\n#####\nTitle: First\nAuthor: nobody\n\n"
      "; 2\n#####\n#.$@#\n#####\nTitle: Second\nComment:\na small level\nComment-End:\n\n"
      "3\n##### \n#-@-#\n#-$-#\n#-.-#\n#####\n\n#####\n#@$.#\n#####\n\n";
  const auto lines = Read("sokoban:5", text);
  ASSERT_EQ(lines.size(), 4);
  for (const Problem& line : lines) EXPECT_EQ(line.error, "");
  EXPECT_EQ(lines[0].id, "First");
  EXPECT_EQ(lines[1].id, "Second");
  EXPECT_EQ(lines[2].id, 3);
  EXPECT_EQ(lines[3].id, 26);
  EXPECT_EQ(Read("sokoban:5", text, 1)[0].id, "First");
  // The collection has a title, each level a title above it, and one of them has a wrong letter.
  const auto titled = Read("sokoban:5",
                           "Title: A collection\n\nLevel 1: easy\n\n#@$.#\n\nTitle: B\n#@$x#\n"
                           "\nTitle: C\n4#\n#@$.#\n");
  ASSERT_EQ(titled.size(), 3);
  EXPECT_EQ(titled[0].id, "Level 1: easy");
  EXPECT_EQ(titled[1].id, "B");
  EXPECT_EQ(titled[2].id, "C");
  EXPECT_NE(titled[1].error.find("line 1, column 4 is 'x'"), std::string::npos);
}

TEST(StatesFile, TitleBelowALevelMayFollowAnEmptyLine) {
  const auto lines =
      Read("sokoban:5", "; 1\n\n#@$.#\n\nTitle: A\nAuthor: nobody\n\n; 2\n\n#@$.#\n\nTitle: B");
  ASSERT_EQ(lines.size(), 2);
  EXPECT_EQ(lines[0].id, "A");
  EXPECT_EQ(lines[1].id, "B");
}

TEST(StatesFile, TheSymbolsOfFloorDoNotMatter) {
  const auto lines = Read("sokoban:7", "__###__\n__#.#__\n###$###\n#.-@--#\n#--$--#\n#######\n");
  ASSERT_EQ(lines.size(), 1);
  EXPECT_EQ(lines[0].error, "");
}

TEST(StatesFile, BoardsMayBeArraysOrGridsOfLines) {
  const auto lines = Read("npuzzle:3",
                          "{\"id\": 1, \"state\": [1, 2, 3, 4, 5, 6, 7, 0, 8]}\n"
                          "{\"id\": 2, \"state\": \"1,2,3,4,5,6,7,0,8\"}\n"
                          "{\"id\": 3, \"state\": [[1, 2, 3], [4, 5, 6], [7, \"_\", 8]]}\n"
                          "# a grid\n1 2 3\n4 5 6\n7 _ 8\n\n1,2,3,4,5,6,7,0,8\n[1,2,3]\n[4,5,6],\n"
                          "[7,0,8]\n");
  ASSERT_EQ(lines.size(), 6);
  for (const Problem& line : lines) {
    EXPECT_EQ(line.error, "");
    EXPECT_EQ(line.state, lines[0].state);
  }
  EXPECT_EQ(lines[3].id, 5);
  EXPECT_EQ(lines[3].text, "1 2 3\n4 5 6\n7 _ 8");
  EXPECT_EQ(Read("lights_out:2", "1 0\n0 1\n1 1 1 1\n").size(), 2);
  EXPECT_EQ(Read("sokoban:5", "{\"state\": [\"#####\", \"#@$.#\"]}\n")[0].text, "#####\n#@$.#");
}

TEST(StatesFile, LineMaySayItsGoal) {
  const auto lines =
      Read("npuzzle:3",
           "{\"state\": [1, 0, 2, 3, 4, 5, 6, 7, 8], \"goal\": [0, 1, 2, 3, 4, 5, 6, 7, 8], "
           "\"solution\": \"R\"}\n"
           "{\"state\": \"1 2 3 4 5 6 7 0 8\", \"goal\": [1, 2, 3, 4, 5, 6, 7, 8, 0]}\n"
           "{\"state\": \"1 2 3 4 5 6 7 0 8\", \"goal\": [8, 7, 6, 5, 4, 3, 2, 1, 0]}\n");
  ASSERT_EQ(lines.size(), 3);
  EXPECT_EQ(lines[0].error, "");
  EXPECT_EQ(lines[0].text, "1 0 2 3 4 5 6 7 8 -> 0 1 2 3 4 5 6 7 8");
  EXPECT_EQ(lines[0].state, lines[1].state);
  EXPECT_EQ(lines[1].text, "1 2 3 4 5 6 7 0 8");
  EXPECT_NE(lines[2].error.find("the goal after '->' is 8 7 6 5 4 3 2 1 0, expected 1 2 3"),
            std::string::npos);
}

TEST(StatesFile, LogSaysWhichGoalWasUnderstood) {
  testing::internal::CaptureStderr();
  Read("npuzzle:4",
       "1 0 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n1 2 6 3 4 5 10 7 8 9 0 11 12 13 14 15\n"
       "1 2 3 4 5 6 7 8 9 10 11 12 13 14 0 15\n");
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("states.txt: 2 states: the goal is 0 1 2 3 4 5"), std::string::npos) << log;
}

// Spaces are floor, so the walker can go around the goal through the first and the last row.
TEST(StatesFile, LineOfSpacesIsARowOfFloorInABoard) {
  const auto lines = Read("grid:5", "     \n@###.\r\n     \r\n\r\n@ .\n\n   \n");
  ASSERT_EQ(lines.size(), 2);
  EXPECT_EQ(lines[0].error, "");
  EXPECT_EQ(lines[0].id, 1);
  EXPECT_EQ(lines[0].text, "     \n@###.\n     ");
  EXPECT_EQ(lines[1].error, "");
  EXPECT_EQ(lines[1].id, 5);
}

TEST(StatesFile, LineOfFewerSpacesSeparatesLevels) {
  EXPECT_EQ(Read("sokoban:5", "  \n#@$.#\n  \n#.$@#\n \n   \n#@$.#").size(), 3);
}

TEST(StatesFile, AJsonLineThatEndsALevelKeepsToTheLimit) {
  const char* text =
      "#@$.#\n"
      "{\"state\": \"#.$@#\"}\n"
      "{\"state\": \"#.$@#\"}\n"
      "{\"state\": \"#.$@#\"}\n";
  for (const std::int64_t limit : {1, 2, 3}) {
    const auto lines = Read("sokoban:5", text, limit);
    EXPECT_EQ(std::ssize(lines), limit);
    EXPECT_EQ(lines[0].text, "#@$.#");
  }
}

TEST(StatesFile, ReadsPublishedLengthsAndRefusesOthers) {
  const auto lines = Read("npuzzle:3",
                          "{\"state\": \"1 2 3 4 5 6 7 0 8\", \"best_known\": 3}\n"
                          "{\"state\": \"1 2 3 4 5 6 7 0 8\", \"best_known\": -1}\n");
  ASSERT_EQ(lines.size(), 2);
  EXPECT_EQ(lines[0].best_known, 3);
  EXPECT_EQ(lines[0].optimal, std::nullopt);
  EXPECT_NE(lines[1].error.find("expected `best_known` to be a whole number"), std::string::npos);
}

TEST(StatesFile, ErrorShowsTheValueThatWasFound) {
  const auto lines = Read("npuzzle:3",
                          "{\"state\": -1}\n"
                          "{\"id\": 2}\n"
                          "{\"state\": \"1 2 3 4 5 6 7 0 8\", \"id\": [3]}\n"
                          "{\"state\": \"1 2 3 4 5 6 7 0 8\", \"optimal\": -1}\n"
                          "{\"state\": \"1 2 3 4 5 6 7 0 8\", \"optimal\": 18446744073709551615}\n"
                          "{\"state\": \"1 2 3 4 5 6 7 0 8\", \"at_most\": \"5\"}\n"
                          "{\"state\": \"1 2 3 4 5 6 7 0 8\", \"solution\": 2}\n"
                          "{\"state\": \"1 2 3\n");
  ASSERT_EQ(lines.size(), 8);
  const auto error_of = [&](std::size_t line) {
    const std::string& error = lines[line - 1].error;
    return error.substr(std::min(error.find("states.txt:"), error.size()));
  };
  EXPECT_EQ(error_of(1), "states.txt:1: expected `state` to be a string, found -1");
  EXPECT_EQ(error_of(2), "states.txt:2: expected `state`, a string");
  EXPECT_EQ(error_of(3), "states.txt:3: expected `id` to be a number or a string, found [3]");
  EXPECT_EQ(error_of(4),
            "states.txt:4: expected `optimal` to be a whole number from 0 to 1000000, found -1");
  EXPECT_EQ(error_of(5),
            "states.txt:5: expected `optimal` to be a whole number from 0 to 1000000, found "
            "18446744073709551615");
  EXPECT_EQ(error_of(6),
            "states.txt:6: expected `at_most` to be a number above 0 and at most 1000000, found "
            "\"5\"");
  EXPECT_EQ(error_of(7),
            "states.txt:7: expected `solution` to be moves, separated by spaces, found 2");
  EXPECT_EQ(error_of(8), "states.txt:8: expected a JSON object, found invalid JSON at byte 17");
}

TEST(StatesFile, DeeplyNestedJsonIsAnErrorOfItsLine) {
  const std::string nested = R"({"id": 1, "x": )" + std::string(200'000, '[') +
                             std::string(200'000, ']') + R"(, "state": "1"})";
  const auto lines = Read("npuzzle:3", nested.c_str());
  ASSERT_EQ(lines.size(), 1);
  EXPECT_NE(lines[0].error.find("states.txt:1: cannot read the JSON object: its JSON values nest"),
            std::string::npos);
}

TEST(StatesFile, PuzzlesWithOneLineStatesHaveOneStatePerLine) {
  const auto lines = Read("npuzzle:3", "# a comment\n 1 2 3 4 5 6 7 0 8 \n\n1 2 3\n");
  ASSERT_EQ(lines.size(), 2);
  EXPECT_EQ(lines[0].text, "1 2 3 4 5 6 7 0 8");
  EXPECT_NE(lines[1].error.find("states.txt:4: a 3x3 board has 9 numbers"), std::string::npos);
}

TEST(StatesFile, LinesMayCarryAnAllowedCost) {
  const auto lines = Read("hanoi:3",
                          "{\"state\": \"111\", \"at_most\": 7.5}\n{\"state\": \"111\"}\n"
                          "{\"state\": \"111\", \"at_most\": 0}\n"
                          "{\"state\": \"111\", \"at_most\": 1e-50}\n"
                          "{\"state\": \"111\", \"at_most\": 1e300}\n");
  ASSERT_EQ(lines.size(), 5);
  EXPECT_EQ(lines[0].at_most, 7.5F);
  EXPECT_EQ(lines[1].at_most, 0.0F);
  for (std::size_t i = 2; i < lines.size(); ++i) {
    EXPECT_NE(lines[i].error.find("expected `at_most` to be a number above 0"), std::string::npos)
        << i;
  }
}

TEST(StatesFile, LinesMayCarryASolutionThatMustSolveTheState) {
  const auto lines = Read("npuzzle:3",
                          "{\"state\": \"1 2 3 4 0 5 7 8 6\", \"solution\": \"L U\"}\n"
                          "{\"state\": \"1 2 3 4 0 5 7 8 6\", \"solution\": \"U L\"}\n"
                          "{\"state\": \"1 2 3 4 0 5 7 8 6\", \"solution\": \"X\"}\n"
                          "{\"state\": \"1 2 3 4 0 5 7 8 6\", \"solution\": 2}\n"
                          "{\"state\": \"1 2 3 4 5 6 7 0 8\", \"solution\": \"U U L\"}\n");
  ASSERT_EQ(lines.size(), 5);
  EXPECT_NE(lines[4].error.find("move 1, U, does not apply in the state 1 2 3 4 5 6 7 0 8"),
            std::string::npos);
  EXPECT_TRUE(lines[4].state.empty());
  EXPECT_EQ(lines[0].error, "");
  EXPECT_EQ(lines[0].solution.size(), 2U);
  EXPECT_NE(lines[1].error.find("expected `solution` to lead from the state to the goal"),
            std::string::npos);
  EXPECT_NE(lines[2].error.find("X"), std::string::npos);
  EXPECT_NE(lines[3].error.find("expected `solution` to be moves"), std::string::npos);
}

}  // namespace
}  // namespace tandem
