#include "tandem/picture.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "domain/random_walks.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

Picture DrawSome(const Domain& domain) {
  std::vector<std::uint8_t> state(static_cast<std::size_t>(domain.spec().state_size));
  WalkFromGoal(domain, Random(1, Purpose::kScramble), 30, state);
  return domain.Draw(state);
}

std::string DrawState(std::string_view domain, std::string_view text) {
  const auto puzzle = MakeDomain(domain);
  std::vector<std::uint8_t> state(static_cast<std::size_t>(puzzle->spec().state_size));
  puzzle->ParseState(text, state);
  return ToTerminal(puzzle->Draw(state), /*colour=*/false);
}

class Pictures : public testing::TestWithParam<const char*> {};

TEST_P(Pictures, NoCellOverlapsAnother) {
  const auto domain = MakeDomain(GetParam());
  const Picture picture = DrawSome(*domain);
  const auto unit = static_cast<float>(picture.unit_width);
  for (std::size_t i = 0; i < picture.cells.size(); ++i) {
    const Cell& a = picture.cells[i];
    for (std::size_t j = 0; j < i; ++j) {
      const Cell& b = picture.cells[j];
      const bool beside = a.x + a.width <= b.x || b.x + b.width <= a.x;
      EXPECT_TRUE(beside || std::abs(a.y - b.y) > 0.999F) << "cells " << j << " and " << i;
      const auto at = std::lround(a.x * unit), after = at + std::lround(a.width * unit);
      const auto b_at = std::lround(b.x * unit), b_after = b_at + std::lround(b.width * unit);
      EXPECT_TRUE(after <= b_at || b_after <= at || std::lround(a.y) != std::lround(b.y))
          << "cells " << j << " and " << i << " in a terminal";
    }
  }
}

TEST_P(Pictures, FitATerminalOf80Columns) {
  const std::string shown = ToTerminal(DrawSome(*MakeDomain(GetParam())), /*colour=*/false);
  ASSERT_FALSE(shown.empty());
  std::size_t width = 0;
  for (const char letter : shown) {
    width = letter == '\n' ? 0 : width + 1;
    ASSERT_LE(width, 80U) << shown;
  }
}

INSTANTIATE_TEST_SUITE_P(Every, Pictures,
                         testing::Values("cube2", "cube3", "npuzzle:3", "npuzzle:7", "lights_out:2",
                                         "lights_out:9", "sokoban:16", "grid:16", "hanoi:3",
                                         "hanoi:9", "permutation:pyraminx", "permutation:megaminx",
                                         "permutation:cube4", "permutation:topspin",
                                         "permutation:lrx", "permutation:picture_cube",
                                         "permutation:professor_tetraminx"));

TEST(Picture, DiscsDifferWithoutColours) {
  EXPECT_EQ(DrawState("hanoi:3", "1 0 1"),
            "            [1]\n"
            "  [ 2 ]   [  3  ]\n"
            "  peg 0    peg 1    peg 2\n");
}

TEST(Picture, EveryLightHasTheNumberThatPressesIt) {
  EXPECT_EQ(DrawState("lights_out:2", "1 0 0 1"), "  *0   1\n   2  *3\n");
}

std::string SvgOf(std::string_view domain, std::string_view text) {
  const auto puzzle = MakeDomain(domain);
  std::vector<std::uint8_t> state(static_cast<std::size_t>(puzzle->spec().state_size));
  puzzle->ParseState(text, state);
  return ToSvg(puzzle->Draw(state));
}

// A plain terminal shows letters instead of colours; an SVG does not need them.
TEST(Picture, SvgHasNoLettersForWallsLightsAndBlanks) {
  const std::string grid = "#####\n#@ .#\n#   #\n#   #\n#####";
  EXPECT_EQ(SvgOf("grid:5", grid).find(">#</text>"), std::string::npos);
  EXPECT_NE(SvgOf("grid:5", grid).find(">@</text>"), std::string::npos);
  EXPECT_EQ(DrawState("grid:5", grid).substr(0, 10), " # # # # #");
  EXPECT_EQ(SvgOf("lights_out:2", "1 0 0 1").find('*'), std::string::npos);
  EXPECT_NE(SvgOf("lights_out:2", "1 0 0 1").find(">3</text>"), std::string::npos);
  EXPECT_EQ(SvgOf("npuzzle:3", "1 2 3 4 5 6 7 8 0").find(">.</text>"), std::string::npos);
  EXPECT_NE(DrawState("npuzzle:3", "1 2 3 4 5 6 7 8 0").find(" ."), std::string::npos);
}

TEST(Picture, UsesTextWithoutColourIfColourIsOff) {
  const Picture picture{.cells = {{.text = "", .colour = 0x4a4a55, .without_colour = "#"},
                                  {.x = 1, .text = "", .without_colour = "."}}};
  EXPECT_EQ(ToTerminal(picture, /*colour=*/false), " # .\n");
  EXPECT_EQ(ToTerminal(picture, /*colour=*/true), "\x1b[48;2;74;74;85m\x1b[38;5;231m  \x1b[0m .\n");
}

TEST(Picture, WideCellWithoutRoomForBracketsShowsItsText) {
  Picture picture{.cells = {{.text = "ab", .colour = 0xff0000, .width = 1.2F}}, .unit_width = 1};
  EXPECT_EQ(ToTerminal(picture, /*colour=*/false), "a\n");
  picture.unit_width = 2;
  EXPECT_EQ(ToTerminal(picture, /*colour=*/false), "ab\n");
  picture.unit_width = 3;
  EXPECT_EQ(ToTerminal(picture, /*colour=*/false), "[ab]\n");
}

TEST(Picture, SvgHasARectangleForEachCell) {
  const Picture picture{.cells = {{.x = 0, .y = 0, .text = "<", .colour = 0xff0000},
                                  {.x = 1.5F, .y = 0.5F, .text = "", .width = 2}}};
  const std::string svg = ToSvg(picture);
  EXPECT_NE(svg.find("viewBox=\"-10 -10 160 80\""), std::string::npos) << svg;
  EXPECT_NE(svg.find("fill=\"#ff0000\""), std::string::npos) << svg;
  EXPECT_NE(svg.find("x=\"61\" y=\"21\" width=\"78\""), std::string::npos) << svg;
  EXPECT_NE(svg.find(">&lt;</text>"), std::string::npos) << svg;
}

}  // namespace
}  // namespace tandem
