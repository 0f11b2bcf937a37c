// Puzzles that a YAML file describes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <numeric>
#include <sstream>

#include "base/file.h"
#include "base/random.h"
#include "domain/random_walks.h"
#include "search/hash_set.h"
#include "support/breadth_first.h"
#include "support/large_puzzles.h"
#include "support/small_puzzles.h"
#include "support/source_folder.h"
#include "support/temp_folder.h"
#include "tandem/check_domain.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

std::unique_ptr<const Domain> Make(const std::string& text, const char* name = "my.yaml") {
  const TempFolder temp;
  const std::filesystem::path file = temp.path() / name;
  std::ofstream(file) << text;
  return MakeDomain("permutation:" + file.string());
}

// The message without the folder.
std::string ErrorFor(const std::string& text, const char* name = "my.yaml") {
  try {
    Make(text, name);
  } catch (const InputError& error) {
    const std::string message = error.what();
    return message.substr(message.find(name));
  }
  return "";
}

std::string After(const Domain& domain, std::string_view moves) {
  State state(static_cast<std::size_t>(domain.spec().state_size));
  domain.WriteGoals(Rows(std::span(state)));
  return domain.FormatState(After(domain, state, ParseActions(domain.spec(), moves)));
}

TEST(PuzzleFile, CyclesAndArraysGiveTheSamePuzzle) {
  const auto cycles = Make("goal: [a, b, c, d]\ngenerators: {R: \"(0 1 2)\"}\n");
  const auto array = Make("goal: [a, b, c, d]\ngenerators: {R: [2, 0, 1, 3]}\n");
  EXPECT_EQ(After(*cycles, "R"), "c a b d");
  EXPECT_EQ(After(*array, "R"), "c a b d");
  EXPECT_EQ(cycles->spec().action_names, (std::vector<std::string>{"R", "R'"}));
  EXPECT_EQ(After(*cycles, "R R'"), "a b c d");
}

TEST(PuzzleFile, ReadsDefinitionsOfCompetitionsAndOfGap) {
  const auto json = Make(R"({"name": "four", "central_state": [0, 1, 2, 3],
                             "generators": {"R": [1, 2, 3, 0], "-R": [3, 0, 1, 2]}})",
                         "puzzle_info.json");
  EXPECT_EQ(json->spec().action_names, (std::vector<std::string>{"R", "-R"}));
  EXPECT_EQ(After(*json, "R"), "1 2 3 0");

  const auto gap =
      Make("# two moves; R:=(1,9);\nA:=(1,2,\n  3,4);\nB:=(1,2);\nGen:=[\nA,B\n];\n", "my.gap");
  EXPECT_EQ(gap->spec().action_names, (std::vector<std::string>{"A", "A'", "B"}));
  EXPECT_EQ(After(*gap, "A"), "3 0 1 2");
  EXPECT_EQ(ErrorFor("A:=(1,2);\n\nB:=(1,0);", "my.gap"),
            "my.gap:3: generator B: in cycle 1, number 2 is '0', expected a position from 1 to 2");
  EXPECT_EQ(
      ErrorFor("A:=(1,99999999999999999999);", "my.gap"),
      "my.gap:1: generator A: in cycle 1, number 2 is '99999999999999999999', expected a position "
      "from 1 to 32768");
  EXPECT_EQ(ErrorFor("A:=(1,2,2);", "my.gap"),
            "my.gap:1: generator A: position 2 occurs twice in its cycles: not a permutation");
  EXPECT_THAT(ErrorFor("G:=[];", "my.gap"), testing::StartsWith("my.gap:1: goal: 0 positions"));
}

TEST(PuzzleFile, ReadsAPuzzleOfTheTablesOfSanta2023) {
  const TempFolder temp;
  std::ofstream(temp.path() / "puzzle_info.csv")
      << "puzzle_type,allowed_moves\r\ntwo,\"{'x': [1, 0]}\"\r\n"
      << "ring_4/1,\"{'f0': [1, 2, 3, 0], 'r0': [1, 0, 2, 3]}\"\r\n";
  std::ofstream(temp.path() / "puzzles.csv")
      << "id,puzzle_type,solution_state,initial_state,num_wildcards\n"
      << "0,two,A;B,B;A,0\n1,ring_4/1,A;A;B;B,B;A;A;B,0\n2,ring_4/1,N0;N1;N2;N3,N1;N0;N2;N3,0";
  const std::string table = "permutation:" + (temp.path() / "puzzle_info.csv").string();
  const auto ring = MakeDomain(table + "#ring_4/1");
  EXPECT_EQ(ring->spec().action_names, (std::vector<std::string>{"f0", "-f0", "r0"}));
  EXPECT_EQ(After(*ring, "f0"), "A B B A");
  EXPECT_EQ(After(*MakeDomain(table + "#2"), "-f0"), "N3 N0 N1 N2");
  const auto error_for = [](const std::string& name) {
    try {
      MakeDomain(name);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(error_for(table + "#ring"),
            "puzzle_info.csv and puzzles.csv have no puzzle of type or id 'ring'");
  EXPECT_THAT(error_for(table),
              testing::HasSubstr("is a table of puzzles, expected the type of one"));
  std::ofstream(temp.path() / "puzzles.csv") << "id,\"a \"\"b\"\", c\"\n0,two\n";
  EXPECT_EQ(error_for(table + "#0"),
            "puzzles.csv: expected a column puzzle_type, found id, a \"b\", c");
}

// Networks and examples depend on the rules, so puzzles with other rules have another identity.
TEST(PuzzleFile, IdentityDependsOnTheRules) {
  const std::string goal = "goal: [a, b, c]\n";
  const auto version = [](const std::string& yaml) { return Make(yaml)->spec().version; };
  const std::string ring = version(goal + "generators: {R: \"(0 1 2)\"}\n");
  EXPECT_EQ(ring.size(), 16U);
  EXPECT_EQ(version("summary: drawn\nlayout: [[0, 0], [1, 0], [2, 0]]\n" + goal +
                    "generators: {T: [2, 0, 1]}\n"),
            ring);
  EXPECT_NE(version("goal: [a, b, b]\ngenerators: {R: \"(0 1 2)\"}\n"), ring);
  EXPECT_NE(version(goal + "generators: {R: \"(0 2 1)\"}\n"), ring);
  EXPECT_NE(version(goal + "generators: {R: {moves: \"(0 1 2)\", cost: 2}}\n"), ring);
}

TEST(PuzzleFile, DoesNotAddAnInverseThatIsGiven) {
  const auto puzzle = Make(
      "goal: [1, 2, 3]\ngenerators: {L: \"(0 2 1)\", R: {moves: \"(0 1 2)\", cost: 2.5}, X: \"(0 "
      "1)\"}\n");
  EXPECT_EQ(puzzle->spec().action_names, (std::vector<std::string>{"L", "R", "X"}));
  EXPECT_EQ(puzzle->spec().inverse_actions, (std::vector<Action>{1, 0, 2}));
  EXPECT_EQ(puzzle->spec().action_costs, (std::vector<float>{1, 2.5F, 1}));
}

// The text of states and moves separates labels and names by white space.
TEST(PuzzleFile, RejectsLabelsAndMovesWithWhiteSpace) {
  for (const char* white : {" ", "\\t", "\\f", "\\v", "\\e"}) {
    const std::string word = std::string("\"a").append(white).append("b\"");
    EXPECT_THAT(ErrorFor("goal: [" + word + ", c]\ngenerators: {X: \"(0 1)\"}\n"),
                testing::StartsWith(
                    "my.yaml:1: goal: position 0: expected a word without white space, found"));
    const std::string error = ErrorFor("goal: [a, c]\ngenerators: {" + word + ": \"(0 1)\"}\n");
    EXPECT_NE(error.find("expected a word without white space"), std::string::npos) << error;
  }
}

TEST(PuzzleFile, ErrorNamesTheGeneratorAndThePosition) {
  const std::string goal = "goal: [1, 2, 3]\n";
  EXPECT_EQ(ErrorFor(goal + "generators:\n  R: [0, 1]\n"),
            "my.yaml:3: generator R: 2 positions, expected 3, as in the goal");
  EXPECT_EQ(
      ErrorFor(goal + "generators:\n  R: [0, 1, 1]\n"),
      "my.yaml:3: generator R: position 2 takes from 1, as position 1 does: not a permutation");
  EXPECT_EQ(ErrorFor(goal + "generators:\n  R: [0, 3, 1]\n"),
            "my.yaml:3: generator R: position 1 is '3', expected a position from 0 to 2");
  EXPECT_EQ(ErrorFor(goal + "generators:\n  L: \"(0 1)\"\n  R: \"(0 1)(1 2)\"\n"),
            "my.yaml:4: generator R: position 1 occurs twice in its cycles: not a permutation");
  EXPECT_EQ(ErrorFor(goal + "generators:\n  R: \"(0 1)(2 7)\"\n"),
            "my.yaml:3: generator R: in cycle 2, number 2 is '7', expected a position from 0 to 2");
  EXPECT_EQ(ErrorFor(goal + "generators:\n  R: \"(0 1\"\n"),
            "my.yaml:3: generator R: the last cycle is not closed: expected ')'");
  EXPECT_EQ(ErrorFor(goal + "generators:\n  R: \"(0 1(2\"\n"),
            "my.yaml:3: generator R: cycle 1 is not closed: expected ')'");
  EXPECT_EQ(
      ErrorFor(goal + "inverses: given\ngenerators:\n  R: \"(0 1 2)\"\n"),
      "my.yaml:4: generator R has no inverse among the generators; `inverses: added` adds R'");
}

// Costs that are too large make sums that overflow; costs that are too small vanish in sums.
TEST(PuzzleFile, RejectsCostsThatAreTooLargeOrTooSmall) {
  const auto error_for = [](const std::string& cost) {
    return ErrorFor("goal: [1, 2]\ngenerators:\n  R:\n    moves: \"(0 1)\"\n    cost: " + cost +
                    "\n");
  };
  for (const char* cost : {"0.000001", "1e6", "2.5"}) EXPECT_EQ(error_for(cost), "") << cost;
  for (const char* cost : {"0", "-1", "1e-7", "1e-45", "1e7", "1e38", ".inf", ".nan", "two"}) {
    EXPECT_EQ(error_for(cost),
              "my.yaml:5: generator R: cost: expected a number from 0.000001 to 1000000, found '" +
                  std::string(cost) + "'")
        << cost;
  }
}

TEST(PuzzleFile, RejectsGeneratorsWithoutMovesOrInverses) {
  const std::string goal = "goal: [1, 2, 3]\ngenerators:\n";
  EXPECT_EQ(ErrorFor(goal + "  R: \"(0 1)\"\n  X: [0, 1, 2]\n"),
            "my.yaml:4: generator X moves nothing");
  EXPECT_EQ(
      ErrorFor(goal + "  X: \"(0 1 2)\"\n  X': \"(0 1)\"\n"),
      "my.yaml:3: generator X: X' does not undo it; give its inverse another name with `inverse`");
  EXPECT_EQ(
      ErrorFor(goal + "  X: {moves: \"(0 1 2)\", inverse: X}\n"),
      "my.yaml:3: generator X: X does not undo it; give its inverse another name with `inverse`");
}

TEST(PuzzleFile, ChecksThatANamedInverseUndoesTheMove) {
  const std::string goal = "goal: [1, 2, 3]\n";
  const std::string x = "generators:\n  X:\n    moves: \"(0 1 2)\"\n    inverse: Y\n";
  EXPECT_EQ(ErrorFor(goal + x), "");
  EXPECT_EQ(ErrorFor(goal + x + "  Y: \"(0 2 1)\"\n"), "");
  EXPECT_EQ(ErrorFor(goal + x + "  Z: \"(0 2 1)\"\n"),
            "my.yaml:5: generator X: inverse is Y, but Z undoes it");
  EXPECT_EQ(ErrorFor(goal + "generators: {S: {moves: \"(0 1)\", inverse: S-}}\n"),
            "my.yaml:2: generator S: inverse is S-, but S undoes it");
  const std::string given = goal + "inverses: given\n";
  EXPECT_EQ(ErrorFor(given + x + "  Y: \"(0 1)\"\n"),
            "my.yaml:6: generator X: Y does not undo it, nor does another generator");
  EXPECT_EQ(ErrorFor(given + x),
            "my.yaml:6: generator X has no inverse among the generators; `inverses: added` adds Y");
}

TEST(PuzzleFile, NamedInverseMayBeOneOfSeveralEqualGenerators) {
  const std::string x = "goal: [1, 2, 3]\ngenerators:\n  X: {moves: \"(0 1 2)\", inverse: Z}\n";
  EXPECT_EQ(ErrorFor(x + "  Y: \"(0 2 1)\"\n  Z: \"(0 2 1)\"\n"), "");
  EXPECT_EQ(ErrorFor(x + "  Y: \"(0 2 1)\"\n  Z: \"(0 1)\"\n"),
            "my.yaml:3: generator X: inverse is Z, but Y undoes it");
}

TEST(PuzzleFile, GeneratorMustBeCyclesOrAnArray) {
  const std::string start = "goal: [1, 2, 3]\ngenerators:\n";
  const std::string expected =
      "expected cycles, a text such as \"(0 1)\", or an array of 3 positions";
  for (const char* line : {"  T:\n  X: \"(0 1)\"\n", "  T: [[0, 1]]\n", "  T: ~\n",
                           "  T: {moves: }\n", "  T: {moves: {a: b}}\n"}) {
    EXPECT_EQ(ErrorFor(start + line), "my.yaml:3: generator T: " + expected) << line;
  }
}

TEST(PuzzleFile, RejectsALayoutWhosePositionsOverlap) {
  const auto error_for = [](const std::string& layout) {
    return ErrorFor("goal: [1, 2, 3]\ngenerators: {X: \"(0 1)\"}\nlayout:\n  [" + layout + "]\n");
  };
  EXPECT_EQ(error_for("[0, 0], [0.5, 1], [1, 0]"), "");
  EXPECT_EQ(error_for("[0.1, 0], [1.1, 0], [2.1, 0]"), "");
  EXPECT_EQ(
      error_for("[0, 0], [1, 0],\n   [1, 0]"),
      "my.yaml:5: layout: position 2 overlaps position 1: expected them 1 apart, in x or in y");
  EXPECT_EQ(
      error_for("[0, 0], [0.5, 0.5], [3, 0]"),
      "my.yaml:4: layout: position 1 overlaps position 0: expected them 1 apart, in x or in y");
}

TEST(PuzzleFile, ErrorsNameOtherMistakes) {
  EXPECT_EQ(ErrorFor("goal: [1, a b]\ngenerators: {X: \"(0 1)\"}\n"),
            "my.yaml:1: goal: position 1: expected a word without white space, found 'a b'");
  EXPECT_EQ(ErrorFor("goal: [1, 2]\nlayout: [[0, 0], [1, -5]]\ngenerators: {X: \"(0 1)\"}\n"),
            "my.yaml:2: layout: position 1: expected a number from 0 to 1000, found '-5'");
  EXPECT_EQ(ErrorFor("goal: [1, 2]\nsummary: \"a\\nb\"\ngenerators: {X: \"(0 1)\"}\n"),
            "my.yaml:2: summary: expected one line of text");
  EXPECT_EQ(ErrorFor("goal: [1]\ngenerator: {}\n"),
            "my.yaml:2: unknown puzzle key `generator`; the keys are summary, goal, central_state, "
            "generators, "
            "inverses, layout, colours");
  EXPECT_EQ(ErrorFor("goal: [1, 2\n").substr(0, 26), "my.yaml:2: not valid YAML:");
  EXPECT_EQ(ErrorFor("goal: [1]\n"), "my.yaml:1: expected `generators`");
  EXPECT_EQ(ErrorFor("goal: [1, 2]\ngenerators: {X: \"(0 1)\"}\nlayout: [[0, 0]]\n"),
            "my.yaml:3: layout: 1 positions, expected 2, as in the goal");
  EXPECT_EQ(ErrorFor("goal: [1, 2]\ngenerators: {X: \"(0 1)\"}\ncolours: {3: \"#ffffff\"}\n"),
            "my.yaml:3: colours: 3 is not a label of the goal");
  const std::string swap = "goal: [1, 2]\ngenerators: {X: \"(0 1)\"}\n";
  EXPECT_EQ(ErrorFor(swap + "colours: {1: \"#ffffff\", 1: \"#000000\"}\n"),
            "my.yaml:3: colours: 1 occurs twice");
  EXPECT_EQ(ErrorFor(swap + "colours: {1: \"#ffffff\"}\n"),
            "my.yaml:3: colours: expected a colour for label 2");
  EXPECT_EQ(ErrorFor(swap + "colours: {1: white, 2: \"#000000\"}\n"),
            "my.yaml:3: colours: expected \"#rrggbb\" for 1, found 'white'");
  EXPECT_THROW(MakeDomain("permutation:no-such.yaml"), InputError);
  EXPECT_THROW(MakeDomain("permutation:/tmp"), InputError);
  EXPECT_THAT([] { MakeDomain("permutation:" + std::string(5000, 'x')); },
              testing::ThrowsMessage<InputError>(
                  testing::HasSubstr("x cannot be read (File name too long): expected a YAML")));
}

TEST(PuzzleFile, RejectsGeneratorsThatNeverChangeTheGoal) {
  const std::string generators = "generators:\n  L: \"(0 1 2)\"\n";
  EXPECT_EQ(ErrorFor("goal: [1, 1, 1, 1]\n" + generators),
            "my.yaml:3: generators: no generator changes the goal, so there is nothing to solve; "
            "expected one that moves different labels");
  EXPECT_THAT(ErrorFor("goal: [1, 1, 1, 2]\n" + generators),
              testing::HasSubstr("no generator changes"));
  EXPECT_EQ(ErrorFor("goal: [1, 1, 1, 2]\n" + generators + "  R: \"(2 3)\"\n"), "");
}

TEST(PuzzleFile, RejectsFilesThatAreTooLarge) {
  const std::string goal = "goal: [a, b]\n";
  EXPECT_EQ(ErrorFor(goal + "generators: {R: \"(0 1)\"}\n# " + std::string(16 << 20, 'x')),
            "my.yaml: the puzzle has more than 16777216 bytes");
  std::string moves = "generators:\n";
  for (int i = 0; i < 4097; ++i) moves += "  m" + std::to_string(i) + ": \"(0 1)\"\n";
  EXPECT_EQ(ErrorFor(goal + moves),
            "my.yaml:3: generators: 4097 generators, expected at most 4096");
  std::string layout = "layout:\n";
  for (int i = 0; i < 3; ++i) layout += "  - [" + std::to_string(i) + ", 0]\n";
  EXPECT_EQ(ErrorFor(goal + "generators: {R: \"(0 1)\"}\n" + layout),
            "my.yaml:4: layout: 3 positions, expected 2, as in the goal");
  EXPECT_EQ(ErrorFor(RowFile(32'769, 2)), "my.yaml:1: goal: 32769 positions, expected 1 to 32768");
}

TEST(PuzzleFile, RejectsASecondDocument) {
  const std::string one = "goal: [1, 2]\ngenerators: {X: \"(0 1)\"}\n";
  EXPECT_EQ(ErrorFor("# a comment\n--- # and another\n" + one + "...\n# a third\n"), "");
  const std::string message = "a second YAML document begins here, expected one";
  EXPECT_EQ(ErrorFor(one + "---\n" + one), "my.yaml:3: " + message);
  EXPECT_EQ(ErrorFor("---\n" + one + "...\n\n" + one), "my.yaml:6: " + message);
}

std::string ErrorForState(const Domain& puzzle, const std::string& text) {
  State state(static_cast<std::size_t>(puzzle.spec().state_size));
  try {
    puzzle.ParseState(text, state);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(PuzzleFile, StateMustHaveTheLabelsOfTheGoal) {
  const auto puzzle = MakeDomain("permutation:lrx");
  const auto error_for = [&](const char* text) { return ErrorForState(*puzzle, text); };
  EXPECT_EQ(error_for("7 6 5 4 3 2 1 0"), "");
  EXPECT_EQ(error_for("7 6 5"), "expected 8 labels separated by spaces, found 3");
  EXPECT_EQ(error_for("7 6 5 4 3 2 1 x"),
            "position 7 is 'x', expected a label of the goal: 0, 1, 2, 3, 4, 5, 6, 7");
  EXPECT_EQ(error_for("7 6 5 4 3 2 1 1"), "label 0 occurs 0 times, expected 1, as in the goal");
}

TEST(PuzzleFile, StateMayBeAnArray) {
  const auto puzzle = MakeDomain("permutation:lrx");
  EXPECT_EQ(ErrorForState(*puzzle, "[7, 6, 5, 4, 3, 2, 1, 0]"), "");
  EXPECT_EQ(ErrorForState(*puzzle, "7,6,5,4,3,2,1,0"), "");
}

// The goal of a puzzle as text, with the labels of two positions exchanged.
std::string Exchanged(const Domain& puzzle, std::size_t a, std::size_t b) {
  State goal(static_cast<std::size_t>(puzzle.spec().state_size));
  puzzle.WriteGoals(Rows(std::span(goal)));
  std::swap(goal[a], goal[b]);
  return puzzle.FormatState(goal);
}

TEST(PuzzleFile, RejectsAStateWithLabelsWhereNoMovesBringThem) {
  const auto cube = MakeDomain("permutation:cube4");
  EXPECT_EQ(ErrorForState(*cube, Exchanged(*cube, 0, 18)),
            "position 0 is R, and the 21 positions that moves bring to it have R 5 times, expected "
            "4: no moves lead from this state to the goal");
  EXPECT_EQ(ErrorForState(*cube, Exchanged(*cube, 60, 76)),
            "position 60 is L, expected D, because no move changes this position: no moves lead "
            "from this state to the goal");
  const auto ring = Make("goal: [a, b, c, d]\ngenerators: {X: \"(0 1)\", Y: \"(2 3)\"}\n");
  EXPECT_EQ(ErrorForState(*ring, "b a d c"), "");
  EXPECT_EQ(ErrorForState(*ring, "a c b d"),
            "position 1 is c, and the 2 positions that moves bring to it have c 1 times, expected "
            "0: no moves lead from this state to the goal");
}

// Each of twenty labels occurs once at each sticker of the pieces, so each could stand for each
// other one, except in this state.
TEST(PuzzleFile, RejectsAStateWithManyInterchangeableLabels) {
  std::string labels;
  std::string cycles[2];  // the first stickers of the pieces, and the second ones
  for (int i = 0; i < 40; ++i) {
    labels += (i == 0 ? "l" : ", l") + std::to_string(i % 20);
    cycles[i / 20] += std::to_string(i) + " ";
  }
  const auto puzzle =
      Make("goal: [" + labels + "]\ngenerators: {X: \"(" + cycles[0] + ")(" + cycles[1] + ")\"}\n");
  EXPECT_THAT(ErrorForState(*puzzle, Exchanged(*puzzle, 8, 29)),
              testing::HasSubstr("have l9 2 times, expected 1"));
}

TEST(PuzzleFile, ReadsAStateWithThousandsOfFixedPositions) {
  std::string rest;
  for (int i = 3; i < 30'000; ++i) rest += ", " + std::to_string(i);
  const auto puzzle = Make("goal: [0, 1, 2" + rest + "]\ngenerators: {X: \"(0 1)\"}\n");
  EXPECT_EQ(ErrorForState(*puzzle, "1, 0, 2" + rest), "");
  EXPECT_THAT(ErrorForState(*puzzle, "0, 2, 1" + rest),
              testing::HasSubstr("position 1 is 2, and the 2 positions"));
}

// Two stickers of the same corner are exchanged, so its positions have the right labels.
TEST(PuzzleFile, RejectsAStateWithAPieceThatDoesNotExist) {
  const auto cube = MakeDomain("permutation:cube4");
  const std::string error = ErrorForState(*cube, Exchanged(*cube, 15, 16));
  EXPECT_THAT(error, testing::HasSubstr("always move together and have "));
  EXPECT_THAT(error, testing::HasSubstr(", which no piece of the goal has: no moves lead"));
}

TEST(PuzzleFile, SaysThatATurnOfTheWholePuzzleHelps) {
  const auto cube = MakeDomain("permutation:cube4");
  std::string held;
  for (const char face : std::string("FLUBRD")) {
    for (int i = 0; i < 16; ++i) held += std::string(held.empty() ? "" : " ") + face;
  }
  const std::string solved = Exchanged(*cube, 0, 0);
  const std::string error = ErrorForState(*cube, held);
  EXPECT_THAT(error, testing::HasSubstr("no moves lead from this state to the goal, but a turn of "
                                        "the whole puzzle helps: "));
  EXPECT_TRUE(error.ends_with("and it reads " + solved)) << error;
}

TEST(PuzzleFile, AcceptsEveryStateOfAWalk) {
  for (const char* name :
       {"cube4", "lrx", "megaminx", "picture_cube", "professor_tetraminx", "pyraminx", "topspin"}) {
    const auto puzzle = MakeDomain(std::string("permutation:") + name);
    State state(static_cast<std::size_t>(puzzle->spec().state_size));
    for (std::uint64_t i = 0; i < 20; ++i) {
      WalkFromGoal(*puzzle, Random(1, Purpose::kScramble, 0, i), 200, state);
      EXPECT_EQ(ErrorForState(*puzzle, puzzle->FormatState(state)), "") << name;
    }
  }
}

// The promises include that text gives the state back, which 30 states of walks show.
std::string BrokenPromise(const Domain& puzzle) {
  for (const DomainCheck& check : CheckDomain(puzzle, {.states = 30, .workers = 2})) {
    if (!check.broken.empty()) return check.promise + ": " + check.broken;
  }
  return "";
}

TEST(PuzzleFile, CubeWithSevenLayersHas294Positions) {
  const auto cube = Make(CubeFile(7));
  EXPECT_EQ(cube->spec().state_size, 294);
  EXPECT_EQ(cube->spec().input.positions, 294);
  EXPECT_EQ(cube->spec().input.depth, 6);
  EXPECT_EQ(cube->spec().num_actions(), 42);
  EXPECT_EQ(BrokenPromise(*cube), "");
  EXPECT_THAT(ErrorForState(*cube, Exchanged(*cube, 0, 49)),
              testing::HasSubstr("which no piece of the goal has"));
}

TEST(PuzzleFile, MoreThan256LabelsTakeTwoDigitsEach) {
  const auto row = Make(RowFile(300, 300));
  EXPECT_EQ(row->spec().state_size, 600);
  EXPECT_EQ(row->spec().input.positions, 600);
  EXPECT_EQ(row->spec().input.depth, 18);  // 18 * 18 = 324
  EXPECT_EQ(BrokenPromise(*row), "");
  EXPECT_THAT(After(*row, "X L"),
              testing::AllOf(testing::StartsWith("0 2 3 4 "), testing::EndsWith(" 298 299 1")));
  std::string text = After(*row, "X");
  text.replace(text.size() - 3, 3, "300");
  EXPECT_THAT(ErrorForState(*row, text),
              testing::StartsWith("position 299 is '300', expected a label of the goal: 0, 1, 2"));
  EXPECT_EQ(row->FormatState(State(600, 255)).substr(0, 13), "?65535 ?65535");
  EXPECT_EQ(BrokenPromise(*Make(RowFile(6534, 6534))), "");  // as many positions as a 33x33x33 cube
}

TEST(PuzzleFile, ErrorsListOnlySomeOfManyMovesAndLabels) {
  std::string goal = "goal: [0";
  std::string moves = "generators:\n";
  for (int i = 1; i < 30; ++i) {
    goal += ", " + std::to_string(i);
    moves += "  m" + std::to_string(i) + ": \"(0 " + std::to_string(i) + ")\"\n";
  }
  const auto puzzle = Make(goal + "]\n" + moves);
  EXPECT_THAT([&] { ParseActions(puzzle->spec(), "m1 x"); },
              testing::ThrowsMessage<InputError>(
                  testing::AllOf(testing::StartsWith("move 2 is 'x', expected one of m1 m2 m3 "),
                                 testing::EndsWith(" m19 m20 ... (29 in all)"))));
  State state(30);
  EXPECT_THAT([&] { puzzle->ParseState("x", state); },
              testing::ThrowsMessage<InputError>(testing::AllOf(
                  testing::StartsWith("position 0 is 'x', expected a label of the goal: 0, 1, 2, "),
                  testing::EndsWith(", 18, 19, ... (30 in all)"))));
}

TEST(Shipped, LrxReachesEveryArrangementOfItsNumbers) {
  const auto levels = CountLevels(*MakeDomain("permutation:lrx"), 100, HashState);
  EXPECT_EQ(std::accumulate(levels.begin(), levels.end(), std::size_t{0}), 40'320);  // 8!
}

// The numbers of states by distance are known if moves of tips are left out (OEIS A079745).
TEST(Shipped, PyraminxHasTheKnownNumbersOfStates) {
  std::istringstream lines(ReadFile(SourceFolder() / "puzzles/pyraminx.yaml"));
  std::string without_tips;
  for (std::string line; std::getline(lines, line);) {
    const bool tip = line.size() > 3 && line[3] == ':' && std::islower(line[2]) != 0;
    if (!tip) without_tips += line + "\n";
  }
  const auto pyraminx = Make(without_tips);
  EXPECT_EQ(pyraminx->spec().num_actions(), 8);
  EXPECT_EQ(CountLevels(*pyraminx, 20, HashState),
            (std::vector<std::size_t>{1, 8, 48, 288, 1728, 9896, 51'808, 220'111, 480'467, 166'276,
                                      2457, 32}));
}

}  // namespace
}  // namespace tandem
