#include "compare/figure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compare/svg.h"

namespace tandem {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;

TEST(Axis, MarksRoundNumbersWithinItsRange) {
  EXPECT_THAT(Axis(0, 10, 0, 100).Ticks(5), ElementsAre(DoubleEq(0), DoubleEq(2), DoubleEq(4),
                                                        DoubleEq(6), DoubleEq(8), DoubleEq(10)));
  EXPECT_THAT(Axis(0.31, 0.68, 0, 1).Ticks(4),
              ElementsAre(DoubleEq(0.4), DoubleEq(0.5), DoubleEq(0.6)));
  EXPECT_DOUBLE_EQ(Axis(0, 10, 20, 120)(5), 70);
}

TEST(Axis, OfOneValueIsWidened) {
  const Axis axis(3, 3, 0, 100);
  EXPECT_DOUBLE_EQ(axis(3), 0);
  EXPECT_FALSE(axis.Ticks(3).empty());
}

TEST(Svg, EscapesWords) {
  Svg svg(10, 10);
  svg.Text({0, 0}, "a<b & \"c\"");
  EXPECT_NE(svg.Finish().find("a&lt;b &amp; &quot;c&quot;"), std::string::npos);
}

std::size_t Count(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

TEST(Figure, DrawsEveryRunTwiceAndTheFirstSeedsFillsAndTrainings) {
  RunRecord run;
  run.curve = {{.iterations = 10, .seconds = 2, .loss = 4, .solve_rate = {}},
               {.iterations = 20, .seconds = 3, .loss = 3, .solve_rate = {}}};
  run.fills = {{0, 1}, {1, 2}};
  run.trainings = {{1, 2}, {2, 3}};
  const std::vector<VariantRuns> variants = {
      {.variant = {.name = "sequential", .mode = "sequential", .varied = {}}, .runs = {run, run}},
      {.variant = {.name = "async", .mode = "async", .varied = {}}, .runs = {run, run}}};
  const std::string figure = Figure(variants, "a < b");
  EXPECT_EQ(Count(figure, "<polyline"), 2 * 2 * 2);
  EXPECT_EQ(Count(figure, "<title>fill "), 2 * 2);
  EXPECT_EQ(Count(figure, "<title>update "), 2 * 2);
  EXPECT_NE(figure.find("a &lt; b"), std::string::npos);
  EXPECT_EQ(Count(figure, "<title>fill 1: 1.00 s to 2.00 s"), 2);
  EXPECT_EQ(Count(figure, "<title>update 1: 2.00 s to 3.00 s"), 2);
  for (const char* colour : {"#0072b2", "#d55e00"}) {  // a variant's, whatever the seed
    EXPECT_EQ(Count(figure, std::string("fill=\"none\" stroke=\"") + colour), 2 * 2);
  }
  // Half of the iterations at the loss on top, and all at the one at the bottom.
  EXPECT_EQ(Count(figure, "points=\"265.0,65.0 470.0,355.0 \""), 2 * 2);
  // A third of what there is from 240 to 980 pixels.
  EXPECT_EQ(Count(figure, "width=\"246.7\" height=\"14.0\""), 2 * 2 * 2);
}

}  // namespace
}  // namespace tandem
