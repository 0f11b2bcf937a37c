// Tests the page of `tandem report`.
#include "report/report_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem {
namespace {

using testing::HasSubstr;
using testing::Not;

KnownLengthFigures Known() {
  return {.states = 6,
          .optimal = 2,
          .mean_length = 3,
          .estimates = EstimateFigures{.mean = 2.5, .error = 1},
          .by_length = {{.length = 2,
                         .states = 4,
                         .solved = 4,
                         .estimates = EstimateFigures{.mean = 1.5, .error = 1}},
                        {.length = 5,
                         .states = 2,
                         .solved = 1,
                         .estimates = EstimateFigures{.mean = 4.5, .error = 1}}}};
}

TEST(ValueCharts, EstimatesAreBesideTheExactLine) {
  const std::vector<Chart> charts = ValueCharts(Known());
  ASSERT_EQ(charts.size(), 2U);
  const Series& exact = charts[0].series[0];
  const Series& estimates = charts[0].series[1];
  ASSERT_EQ(estimates.points.size(), 2U);
  EXPECT_EQ(estimates.points[1].x, 5);
  EXPECT_EQ(estimates.points[1].y, 4.5);
  EXPECT_EQ(exact.points[1].y, 5);
  EXPECT_EQ(charts[1].series[0].points[1].y, 50);  // % of the two states of length 5
}

TEST(ValueCharts, PolicyHasNoEstimatesButIsSolvedByLength) {
  KnownLengthFigures known = Known();
  for (LengthFigures& each : known.by_length) each.estimates.reset();
  const std::vector<Chart> charts = ValueCharts(known);
  EXPECT_FALSE(charts[0].has_points());
  EXPECT_TRUE(charts[1].has_points());
}

TEST(ErrorChart, ShowsTheLastValidation) {
  RunRecord run;
  EXPECT_FALSE(ErrorChart(run).has_points());
  run.curve.resize(3);
  run.curve[0].error_by_length = {{1, 9.0}};
  run.curve[1].error_by_length = {{1, 0.5}, {2, 0.75}};
  const Chart chart = ErrorChart(run);
  ASSERT_EQ(chart.series[0].points.size(), 2U);
  EXPECT_EQ(chart.series[0].points[1].y, 0.75);
}

TEST(ReportHtml, EscapesTextAndKeepsPictures) {
  ReportPage page;
  page.title = "a <b>";
  page.bottleneck = "x & y";
  page.puzzle = {.description = "solved",
                 .frames = {{.svg = "<svg>first</svg>", .caption = "Start"},
                            {.svg = "<svg>second</svg>", .caption = "Move <1>"}}};
  const std::string html = ReportHtml(page);
  EXPECT_THAT(html, HasSubstr("<h1>a &lt;b></h1>"));
  EXPECT_THAT(html, HasSubstr("<p>x &amp; y</p>"));
  EXPECT_THAT(html, HasSubstr("<figure>\n<svg>first</svg>"));
  EXPECT_THAT(html, HasSubstr("<figure hidden>\n<svg>second</svg>"));
  EXPECT_THAT(html, HasSubstr("Move &lt;1>"));
  EXPECT_THAT(html, HasSubstr("max=\"1\""));
}

TEST(ReportHtml, WithoutAPuzzleThereIsNoScript) {
  ReportPage page;
  page.puzzle_note = "No network.";
  const std::string html = ReportHtml(page);
  EXPECT_THAT(html, HasSubstr("<p>No network.</p>"));
  EXPECT_THAT(html, Not(HasSubstr("<script>")));
}

}  // namespace
}  // namespace tandem
