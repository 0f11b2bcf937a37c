// Compares the cube with known facts about its group; independent of the implementation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/random.h"
#include "domain/random_walks.h"
#include "support/facelet_cube.h"
#include "support/source_folder.h"

namespace tandem {
namespace {

class Cube3 : public FaceletCube {
 protected:
  Cube3() : FaceletCube("cube3", "UUUUUUUUURRRRRRRRRFFFFFFFFFDDDDDDDDDLLLLLLLLLBBBBBBBBB") {}

  // How often a sequence must be repeated to return to the solved cube.
  int OrderOf(std::string_view moves) const {
    std::vector<std::uint8_t> state = Goal();
    int order = 0;
    do {
      Move(*cube_, state, moves);
      ++order;
    } while (state != Goal());
    return order;
  }
};

TEST_F(Cube3, EachMoveHasOrderFourAndAnInverse) {
  for (const std::string& move : cube_->spec().action_names) {
    EXPECT_EQ(OrderOf(move), 4) << move;
    const std::string back = move.size() == 1 ? move + "'" : move.substr(0, 1);
    EXPECT_EQ(AfterMoves(move + " " + back), solved_);
  }
  for (std::size_t a = 0; a < 12; ++a) {
    const std::string& inverse = cube_->spec().action_names[cube_->spec().inverse_actions[a]];
    EXPECT_EQ(inverse[0], cube_->spec().action_names[a][0]);
    EXPECT_NE(inverse, cube_->spec().action_names[a]);
  }
}

TEST_F(Cube3, OppositeFacesCommuteAndNeighboursDoNot) {
  EXPECT_EQ(AfterMoves("U D"), AfterMoves("D U"));
  EXPECT_EQ(AfterMoves("L R"), AfterMoves("R L"));
  EXPECT_EQ(AfterMoves("F B"), AfterMoves("B F"));
  EXPECT_NE(AfterMoves("U R"), AfterMoves("R U"));
}

TEST_F(Cube3, KnownSequencesHaveTheirOrders) {
  EXPECT_EQ(OrderOf("R U"), 105);
  EXPECT_EQ(OrderOf("R U R' U'"), 6);
  EXPECT_EQ(OrderOf("R U U"), 30);
  EXPECT_EQ(OrderOf("R U'"), 63);
  EXPECT_EQ(OrderOf("R U U D' B D'"), 1260);  // the highest order of any element
}

TEST_F(Cube3, MovesMakeTheFaceletsOfOtherPrograms) {
  EXPECT_EQ(AfterMoves(""), solved_);
  EXPECT_EQ(AfterMoves("R"), "UUFUUFUUFRRRRRRRRRFFDFFDFFDDDBDDBDDBLLLLLLLLLUBBUBBUBB");
  EXPECT_EQ(AfterMoves("U"), "UUUUUUUUUBBBRRRRRRRRRFFFFFFDDDDDDDDDFFFLLLLLLLLLBBBBBB");
  // The checkerboard: each face shows its own colour and the opposite one in turn.
  EXPECT_EQ(AfterMoves("U U D D F F B B L L R R"),
            "UDUDUDUDURLRLRLRLRFBFBFBFBFDUDUDUDUDLRLRLRLRLBFBFBFBFB");
}

TEST_F(Cube3, OnlyTheSolvedCubeIsAGoal) {
  std::vector<std::uint8_t> states = Goal();
  const std::vector<std::uint8_t> goal = Goal();
  states.insert(states.end(), goal.begin(), goal.end());
  const Action turn = 3;
  cube_->Apply(Rows(states.data() + 54, 1, 54), {&turn, 1});
  std::array<std::uint8_t, 2> is_goal{};
  cube_->IsGoal(ConstRows(states.data(), 2, 54), is_goal);
  EXPECT_EQ(is_goal[0], 1);
  EXPECT_EQ(is_goal[1], 0);
}

std::vector<std::uint8_t> InputOf(const Domain& cube, std::span<const std::uint8_t> state) {
  std::vector<std::uint8_t> input(static_cast<std::size_t>(cube.spec().input.positions));
  cube.Encode(ConstRows(state), Rows(std::span(input)));
  return input;
}

// In how many of the pairs, which follow the 20 places, two inputs differ.
int NumDifferentPairs(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b) {
  int different = 0;
  for (std::size_t i = 20; i < a.size(); ++i) different += a[i] != b[i] ? 1 : 0;
  return different;
}

// A turn parts the four corners and the four edges of its face from the pieces next to them.
TEST_F(Cube3, ATurnChangesEightOfTheThirtySixPairs) {
  const auto cube = MakeDomain("cube3:pairs");
  const auto by_piece = MakeDomain("cube3:pieces");
  const std::vector<std::uint8_t> solved = InputOf(*cube, Goal());
  ASSERT_EQ(solved.size(), 20 + 36);
  for (const std::string& move : cube->spec().action_names) {
    std::vector<std::uint8_t> state = Goal();
    Move(*cube, state, move);
    const std::vector<std::uint8_t> input = InputOf(*cube, state);
    const std::vector<std::uint8_t> pieces = InputOf(*by_piece, state);
    EXPECT_TRUE(std::equal(pieces.begin(), pieces.end(), input.begin()));
    EXPECT_EQ(NumDifferentPairs(input, solved), 8) << move;
  }
}

// Pairs within a layer stay together, and so do the four pairs of corners that face each other
// across the middle layer, since both turn by half. The eight of a corner and an edge of the middle
// do not.
TEST_F(Cube3, APairThatStaysTogetherHasTheNumbersOfTheSolvedCubeWhereverItIs) {
  const auto cube = MakeDomain("cube3:pairs");
  const std::vector<std::uint8_t> solved = InputOf(*cube, Goal());
  std::vector<std::uint8_t> state = Goal();
  Move(*cube, state, "R R L L");  // a half turn of the left layer and of the right one
  const std::vector<std::uint8_t> input = InputOf(*cube, state);
  EXPECT_NE(std::vector(input.begin(), input.begin() + 20),
            std::vector(solved.begin(), solved.begin() + 20));
  EXPECT_EQ(NumDifferentPairs(input, solved), 8);
}

TEST_F(Cube3, MovesSurviveTheRoundTripThroughText) {
  const std::string all = "U U' D D' L L' R R' B B' F F'";
  EXPECT_EQ(FormatActions(cube_->spec(), ParseActions(cube_->spec(), all)), all);
  EXPECT_EQ(FormatActions(cube_->spec(), ParseActions(cube_->spec(), "  U\tF'\n")), "U F'");
}

TEST_F(Cube3, ReadsMovesAsPeopleWriteThem) {
  const auto read = [](const char* cube, const char* moves) {
    const auto domain = MakeDomain(cube);
    return FormatActions(domain->spec(), domain->ParseMoves(moves, ""));
  };
  EXPECT_EQ(read("cube3", "R2 U2' F3"), "R R U U F'");
  EXPECT_EQ(read("cube3_htm", "R2 U2' F3"), "R2 U2 F'");
  EXPECT_EQ(read("cube3", "(R U R' U')F\u2019"), "R U R' U' F'");
  EXPECT_EQ(read("cube3", "RU2R'"), "R U U R'");
  EXPECT_EQ(read("cube3", "r U r'"), "L F L'");
  EXPECT_EQ(read("cube3", "Rw U Rw'"), "L F L'");
  EXPECT_EQ(read("cube3", "M' U M"), "L R' F L' R");
  EXPECT_EQ(read("cube3", "x R U x' U"), "R F U");
  EXPECT_EQ(read("cube3", "y R y' R"), "B R");
  EXPECT_EQ(read("cube3", "z U z' U"), "L U");
  EXPECT_EQ(read("cube3_htm", "y2 F z2 U"), "B D");
  // The checkerboard, made by slices and by faces.
  const auto play = [&](const char* moves) {
    std::vector<std::uint8_t> state = Goal();
    for (const Action action : cube_->ParseMoves(moves, "")) {
      cube_->Apply(Rows(std::span(state)), {&action, 1});
    }
    return cube_->FormatState(state);
  };
  EXPECT_EQ(play("M2 E2 S2"), play("U2 D2 F2 B2 L2 R2"));
  // All three layers turn together, which changes nothing but how the cube is held.
  EXPECT_EQ(play("R M' L'"), solved_);
  EXPECT_EQ(play("U E' D'"), solved_);
  EXPECT_EQ(play("F S B'"), solved_);
  for (const auto& [wide, narrow] : {std::pair{"u", "U E'"},
                                     {"d", "D E"},
                                     {"r", "R M'"},
                                     {"l", "L M"},
                                     {"f", "F S"},
                                     {"b", "B S'"}}) {
    EXPECT_EQ(play((std::string("R U F ") + wide + " U R F").c_str()),
              play((std::string("R U F ") + narrow + " U R F").c_str()))
        << wide;
  }
}

TEST_F(Cube3, ErrorNamesTheFirstMoveThatNoCubeHas) {
  EXPECT_THAT(
      [&] { cube_->ParseMoves("R2 (U) Q", ""); },
      testing::ThrowsMessage<InputError>(testing::StartsWith(
          "move 3 is 'Q', expected one of U U' D D' L L' R R' B B' F F', half turns (R2), ")));
  EXPECT_THROW(cube_->ParseMoves("(R U)2", ""), InputError);
}

TEST_F(Cube3, RecognisesFacesInAnotherOrderAndOtherNamesOfColours) {
  std::vector<std::uint8_t> state = Goal();
  Move(*cube_, state, "R U F' L D B' R R");
  const std::string text = cube_->FormatState(state);
  const auto face = [&](char name) { return text.substr(9 * std::string("URFDLB").find(name), 9); };
  const auto in_order = [&](const std::string& order, const char* between) {
    std::string faces;
    for (const char name : order) faces += face(name) + between;
    return faces;
  };
  for (const char* order : {"URFDLB", "URFLBD", "ULFRBD", "UFRBLD", "FBUDLR"}) {
    std::vector<std::uint8_t> read(54);
    cube_->ParseState(in_order(order, ""), read);
    EXPECT_EQ(read, state) << order;
    cube_->ParseState(in_order(order, " "), read);
    EXPECT_EQ(read, state) << order;
  }
  std::string colours = text;
  for (char& letter : colours) letter = "WRGYOB"[std::string("URFDLB").find(letter)];
  std::vector<std::uint8_t> read(54);
  cube_->ParseState(colours, read);
  EXPECT_EQ(read, state);
}

TEST_F(Cube3, RejectsTextThatIsNotACube) {
  EXPECT_EQ(ErrorFor("UUU"), "a cube has 54 facelets, found 3");
  EXPECT_EQ(ErrorFor("X" + solved_.substr(1)), "facelet 1 is 'X', expected one of U R F D L B");
  EXPECT_EQ(ErrorFor("R" + solved_.substr(1)), "colour U is on 8 facelets, expected 9");
  EXPECT_THROW(ParseActions(cube_->spec(), "U X"), InputError);
}

TEST_F(Cube3, ErrorSaysHowToHoldTheCube) {
  EXPECT_EQ(ErrorFor("RRRRRRRRRDDDDDDDDDFFFFFFFFFLLLLLLLLLUUUUUUUUUBBBBBBBBB"),
            "the centre of face U is R, expected U: hold the cube so that each centre is on its "
            "own face, and it reads " +
                solved_);
  std::string mirrored = solved_;
  std::swap(mirrored[4], mirrored[13]);
  EXPECT_TRUE(
      ErrorFor(mirrored).starts_with("the centre of face U is R, expected U: hold the cube so that "
                                     "each centre is on its own face; "
                                     "with its faces in the order RUFDLB, the corner at "))
      << ErrorFor(mirrored);
  std::string twice = solved_;  // two faces with the centre R
  std::swap(twice[4], twice[9]);
  EXPECT_EQ(
      ErrorFor(twice),
      "the centre of face U is R, expected U: hold the cube so that each centre is on its own "
      "face");
}

TEST_F(Cube3, ErrorNamesAPieceThatDoesNotExist) {
  EXPECT_EQ(ErrorFor(Exchanged({{9, 0}})),
            "the corner at ULB, facelets 1 37 48, shows R L B: R and L are colours of opposite "
            "faces, which have no piece in common");
  EXPECT_EQ(ErrorFor(Exchanged({{9, 20}})),
            "the corner at URF, facelets 9 10 21, shows U F R: on a real cube these colours go the "
            "other way round; are two of them exchanged?");
  EXPECT_EQ(ErrorFor(Exchanged({{10, 7}})),
            "the edge at UR, facelets 6 11, shows U U: no piece has a colour twice");
  EXPECT_EQ(ErrorFor(Exchanged({{10, 28}})),
            "the edge at UR, facelets 6 11, shows U D: U and D are colours of opposite faces, "
            "which have no piece in common");
}

TEST_F(Cube3, ErrorNamesAPieceThatOccursTwice) {
  EXPECT_EQ(ErrorFor(Exchanged({{23, 50}})),
            "the edge BR occurs twice, at FR (facelets 24 13) and at BR (facelets 49 15), and the "
            "edge FR is missing");
}

TEST_F(Cube3, ErrorSaysWhyNoTurnsSolveTheCube) {
  const std::string no_turns =
      ": no turns solve this cube; check the facelets, and if they are right, take the cube apart "
      "and ";
  EXPECT_EQ(ErrorFor(Exchanged({{7, 19}})),
            "one edge is flipped" + no_turns + "turn any one edge over");
  EXPECT_EQ(ErrorFor(Exchanged({{8, 9}, {8, 20}})),
            "one corner is twisted clockwise" + no_turns + "twist any one corner anticlockwise");
  EXPECT_EQ(ErrorFor(Exchanged({{8, 20}, {8, 9}})),
            "one corner is twisted anticlockwise" + no_turns + "twist any one corner clockwise");
  EXPECT_EQ(ErrorFor(Exchanged({{10, 19}})),
            "two pieces are swapped" + no_turns + "exchange any two edges");
  EXPECT_EQ(ErrorFor(Exchanged({{10, 19}, {8, 9}, {8, 20}})),
            "one corner is twisted clockwise and two pieces are swapped" + no_turns +
                "twist any one corner anticlockwise and exchange any two edges");
}

TEST_F(Cube3, AcceptsFlipsAndTwistsThatCancel) {
  EXPECT_EQ(ErrorFor(Exchanged({{7, 19}, {5, 10}})), "");                   // two flipped edges
  EXPECT_EQ(ErrorFor(Exchanged({{8, 9}, {8, 20}, {2, 11}, {2, 45}})), "");  // two twists
}

TEST_F(Cube3, DrawsTheUnfoldedCube) {
  std::vector<std::uint8_t> state = Goal();
  Move(*cube_, state, "R");
  const std::string picture = ToTerminal(cube_->Draw(state), /*colour=*/false);
  EXPECT_EQ(picture.substr(0, picture.find('\n')), "        U U F");
  EXPECT_NE(picture.find("\n L L L  F F D  R R R  U B B\n"), std::string::npos);
  EXPECT_NE(ToTerminal(cube_->Draw(state), /*colour=*/true).find("\x1b[48;2;"), std::string::npos);
}

TEST_F(Cube3, ReadsThePublishedStates) {
  std::istringstream lines(ReadFile(SourceFolder() / "data/cube3_ten.jsonl"));
  std::string line;
  int count = 0;
  for (; std::getline(lines, line); ++count) {
    const std::string text = nlohmann::json::parse(line)["state"];
    std::vector<std::uint8_t> state(54);
    cube_->ParseState(text, state);
    EXPECT_EQ(cube_->FormatState(state), text);
  }
  EXPECT_EQ(count, 10);
}

}  // namespace
}  // namespace tandem
