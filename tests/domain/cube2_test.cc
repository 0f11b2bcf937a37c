#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/breadth_first.h"
#include "support/facelet_cube.h"

namespace tandem {
namespace {

class Cube2 : public FaceletCube {
 protected:
  Cube2() : FaceletCube("cube2", "UUUURRRRFFFFDDDDLLLLBBBB") {}

  static std::string CornersOfTheBigCubeAfter(std::string_view moves) {
    const auto big = MakeDomain("cube3");
    std::vector<std::uint8_t> state = GoalOf(*big);
    Move(*big, state, moves);
    std::string corners;
    for (std::size_t face = 0; face < 6; ++face) {
      for (const std::size_t sticker : {0, 2, 6, 8}) corners += "URFDLB"[state[9 * face + sticker]];
    }
    return corners;
  }
};

// Compares with the corners of the 3x3x3 cube, which move in the same way.
TEST_F(Cube2, MovesLikeTheCornersOfTheBigCube) {
  for (const char* moves : {"", "U", "R", "F", "U'", "R'", "F'", "R U F' U R R F U' R' F F"}) {
    EXPECT_EQ(AfterMoves(moves), CornersOfTheBigCubeAfter(moves)) << moves;
  }
}

// The corners of the big cube are held so that DBL is in its place.
TEST_F(Cube2, ReadsTurnsOfAllFacesAndRotations) {
  const auto read = [&](const char* moves) {
    return FormatActions(cube_->spec(), cube_->ParseMoves(moves, ""));
  };
  EXPECT_EQ(read("D R"), "U F");
  EXPECT_EQ(read("R2 x U"), "R R F");
  EXPECT_THROW(cube_->ParseMoves("M", ""), InputError);
  const char* moves = "D R B' L L F D' B U L'";
  const std::string error = ErrorFor(CornersOfTheBigCubeAfter(moves));
  EXPECT_TRUE(error.ends_with("it reads " + AfterMoves(read(moves)))) << error;
}

TEST_F(Cube2, HasTheKnownNumbersOfStatesNearTheGoal) {
  const auto levels = CountLevels(*cube_, 7, [](auto state) { return KeyInBase(state, 6); });
  EXPECT_EQ(levels, (std::vector<std::size_t>{1, 6, 27, 120, 534, 2256, 8969, 33'058}));
}

TEST_F(Cube2, RejectsTextThatIsNotACube) {
  EXPECT_EQ(ErrorFor("UUU"), "a 2x2x2 cube has 24 facelets, found 3");
  EXPECT_EQ(ErrorFor("XUUURRRRFFFFDDDDLLLLBBBB"), "facelet 1 is 'X', expected one of U R F D L B");
  EXPECT_EQ(ErrorFor("RUUURRRRFFFFDDDDLLLLBBBB"), "colour U is on 3 facelets, expected 4");
}

TEST_F(Cube2, ErrorSaysHowToHoldTheCube) {
  EXPECT_EQ(ErrorFor("RRRRDDDDFFFFLLLLUUUUBBBB"),
            "the corner at the bottom, back and left shows LBU, expected DBL, because no move "
            "moves that corner: hold the cube so that its corner with the colours D, B and L is "
            "there; then it reads " +
                solved_);
}

// A turn of the opposite face is the same turn if the cube is held as expected.
TEST_F(Cube2, ErrorShowsHowACubeTurnedOnTheOppositeSideReads) {
  for (const auto& [there, here] : {std::pair{"D", "U"}, {"L'", "R'"}, {"B", "F"}}) {
    const std::string before = "R U F' U R R ";
    const std::string error = ErrorFor(CornersOfTheBigCubeAfter(before + there));
    EXPECT_TRUE(error.ends_with("it reads " + AfterMoves(before + here))) << there << ": " << error;
  }
}

TEST_F(Cube2, ErrorNamesAPieceThatDoesNotExist) {
  EXPECT_EQ(ErrorFor(Exchanged({{4, 9}})),
            "the corner at URF, facelets 4 5 10, shows U F R: on a real cube these colours go the "
            "other way round; are two of them exchanged?");
  EXPECT_EQ(ErrorFor(Exchanged({{4, 0}})),
            "the corner at ULB, facelets 1 17 22, shows R L B: R and L are colours of opposite "
            "faces, which have no piece in common");
}

TEST_F(Cube2, ErrorNamesAPieceThatOccursTwice) {
  EXPECT_EQ(ErrorFor(Exchanged({{4, 9}, {9, 19}, {19, 10}})),
            "the corner UFL occurs twice, at UFL (facelets 3 9 18) and at URF (facelets 4 5 10), "
            "and the corner URF is missing");
}

TEST_F(Cube2, ErrorNamesATwistedCorner) {
  EXPECT_EQ(ErrorFor(Exchanged({{3, 4}, {3, 9}})),
            "one corner is twisted clockwise: no turns solve this cube; check the facelets, and if "
            "they are right, take the cube apart and twist any one corner anticlockwise");
}

// Turns can swap just two corners, unlike on the 3x3x3.
TEST_F(Cube2, AcceptsTwoSwappedCorners) { EXPECT_EQ(ErrorFor(Exchanged({{4, 8}, {9, 17}})), ""); }

}  // namespace
}  // namespace tandem
