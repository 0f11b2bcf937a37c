#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "report/chart.h"
#include "report/comparison.h"

namespace tandem {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;

TEST(Axis, TicksAreRoundNumbersWithinTheRange) {
  EXPECT_THAT(Axis(0, 10, 0, 100).Ticks(5), ElementsAre(DoubleEq(0), DoubleEq(2), DoubleEq(4),
                                                        DoubleEq(6), DoubleEq(8), DoubleEq(10)));
  EXPECT_THAT(Axis(0.31, 0.68, 0, 1).Ticks(4),
              ElementsAre(DoubleEq(0.4), DoubleEq(0.5), DoubleEq(0.6)));
  EXPECT_DOUBLE_EQ(Axis(0, 10, 20, 120)(5), 70);
}

// Numbers of a file may be too large or too close together for whole numbers of steps.
TEST(Axis, ExtremeRangesHaveFewTicksOrNone) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  constexpr double kSmallest = std::numeric_limits<double>::denorm_min();
  for (const Axis& axis : {Axis(-kLargest, kLargest, 0, 1), Axis(0, kSmallest, 0, 1),
                           Axis(1e300, 1e300 * (1 + 1e-15), 0, 1)}) {
    EXPECT_LE(axis.Ticks(5).size(), 11U);
  }
  EXPECT_TRUE(Axis(-kLargest, kLargest, 0, 1).Ticks(5).empty());  // the range itself is infinite
}

TEST(Axis, EmptyRangeIsWidened) {
  const Axis axis(3, 3, 0, 100);
  EXPECT_DOUBLE_EQ(axis(3), 0);
  EXPECT_FALSE(axis.Ticks(3).empty());
}

TEST(Svg, EscapesText) {
  Svg svg(10, 10);
  svg.Text({0, 0}, "a<b & \"c\"");
  EXPECT_NE(svg.Finish().find("a&lt;b &amp; &quot;c&quot;"), std::string::npos);
}

TEST(Svg, GivesDarkViewersADarkBackgroundAndLighterCurves) {
  Svg svg(10, 10);
  svg.Dot({1, 1}, kColours[0], 2, 1);
  const std::string text = svg.Finish();
  const std::size_t rules = text.find("@media (prefers-color-scheme: dark)");
  ASSERT_NE(rules, std::string::npos);
  EXPECT_NE(text.find("[fill=\"white\"] { fill: #0d1117; }", rules), std::string::npos);
  EXPECT_NE(text.find("[fill=\"#0072b2\"] { fill: #5b8def; }", rules), std::string::npos);
}

TEST(Svg, ElementIsTransparentAndItsStyleComesFromThePage) {
  Svg svg(10, 20);
  svg.Dot({1, 1}, kColours[0], 2, 1);
  const std::string element = svg.Element("a < b");
  EXPECT_TRUE(element.starts_with("<svg class=\"chart\" viewBox=\"0 0 10 20\""));
  EXPECT_NE(element.find("aria-label=\"a &lt; b\""), std::string::npos);
  EXPECT_EQ(element.find("<rect"), std::string::npos);
  EXPECT_EQ(element.find("<style"), std::string::npos);
  EXPECT_NE(ChartStyle().find(".chart [fill=\"#0072b2\"] { fill: #5b8def; }"), std::string::npos);
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
  EXPECT_EQ(Count(figure, "<polyline"), 2 * 2 * 2 + 2);  // plus two in the legend
  EXPECT_EQ(Count(figure, "<title>fill "), 2 * 2);
  EXPECT_EQ(Count(figure, "<title>update "), 2 * 2);
  EXPECT_NE(figure.find("a &lt; b"), std::string::npos);
  EXPECT_EQ(Count(figure, "<title>fill 1: 1.00 s to 2.00 s"), 2);
  EXPECT_EQ(Count(figure, "<title>update 1: 2.00 s to 3.00 s"), 2);
  for (const char* colour : {"#0072b2", "#d55e00"}) {  // one colour per variant, for all seeds
    EXPECT_EQ(Count(figure, std::string("fill=\"none\" stroke=\"") + colour), 2 * 2 + 1);
  }
  // Half of the iterations at the loss on top, and all at the one at the bottom.
  EXPECT_EQ(Count(figure, "points=\"262.0,66.0 464.0,354.0 \""), 2 * 2);
  // A third of the width from 240 to 980 pixels.
  EXPECT_EQ(Count(figure, "width=\"246.7\" height=\"14.0\""), 2 * 2 * 2);
}

// Two seeds of a variant, validated after the second of three updates and at the end.
VariantRuns Validated(const std::string& mode, const std::string& weights) {
  RunRecord run;
  run.weights_sha256 = weights;
  run.curve = {{.iterations = 10, .seconds = 2, .loss = 4, .solve_rate = {}},
               {.iterations = 20, .seconds = 3, .loss = 5, .solve_rate = 0.25},
               {.iterations = 30, .seconds = 4, .loss = 6, .solve_rate = 0.5}};
  run.trainings = {{1, 2}};
  return {.variant = {.name = mode, .mode = mode, .varied = {}}, .runs = {run, run}};
}

TEST(Figure, ShowsTheSolveRateOfRunsThatWereValidated) {
  const std::vector<VariantRuns> variants = {Validated("sequential", "a"), Validated("async", "b")};
  const std::string figure = Figure(variants, "title");
  EXPECT_EQ(Count(figure, ">% of validation puzzles solved<"), 2);
  EXPECT_EQ(Count(figure, ">loss"), 0);
  // 20 and 30 of 30 iterations, at half of the highest rate and at the highest.
  EXPECT_EQ(Count(figure, "points=\"329.3,210.0 464.0,66.0 \""), 2 * 2);
  EXPECT_EQ(Count(figure, "<circle"), 2 * 2 * 2);  // one for each validation of the first seeds
}

TEST(Figure, ShowsTheLossOfRunsWithoutValidation) {
  std::vector<VariantRuns> variants = {Validated("async", "a")};
  for (RunRecord& run : variants[0].runs) {
    for (UpdatePoint& point : run.curve) point.solve_rate.reset();
  }
  EXPECT_EQ(Count(Figure(variants, ""), "loss (no solve rate: the runs were not validated)"), 2);
}

TEST(Figure, ShowsRunsOfOneUpdateAsDots) {
  VariantRuns runs = Validated("async", "a");
  for (RunRecord& run : runs.runs) run.curve = {run.curve.back()};
  const std::vector<VariantRuns> variants = {runs};
  EXPECT_EQ(Count(Figure(variants, ""), "<circle"), 2 * 2);  // both seeds in both panels
}

TEST(Figure, ThinsLongCurves) {
  VariantRuns runs = Validated("async", "a");
  for (RunRecord& run : runs.runs) {
    for (int i = 0; i < 100'000; ++i) run.curve.push_back(run.curve.back());
  }
  const std::vector<VariantRuns> variants = {runs};
  EXPECT_LT(Figure(variants, "").size(), 100'000U);
}

TEST(Figure, ExplainsItsLines) {
  const std::vector<VariantRuns> variants = {Validated("sequential", "a"), Validated("async", "a"),
                                             Validated("sync_main", "b")};
  const std::string figure = Figure(variants, "");
  EXPECT_EQ(Count(figure, "Thick lines are the first seed, pale lines the other seeds."), 1);
  EXPECT_EQ(Count(figure, "Over iterations, async coincides with sequential: for each seed"), 1);
  EXPECT_EQ(Count(figure, "sync_main coincides with"), 0);
  // A curve that coincides with another has gaps: two seeds in two panels, and the legend.
  EXPECT_EQ(Count(figure, "stroke-dasharray=\"10 8\""), 2 * 2 + 1);
  EXPECT_EQ(Count(figure, "stroke-dasharray=\"4 8\""), 2 * 2 + 1);
}

}  // namespace
}  // namespace tandem
