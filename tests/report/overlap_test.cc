// Tests when a run generated and when it trained, from its metrics.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/report_page.h"

namespace tandem {
namespace {

using testing::HasSubstr;

constexpr double kTolerance = 1e-9;

UpdatePoint EndsAt(double seconds) {
  UpdatePoint point;
  point.seconds = seconds;
  return point;
}

// Two updates, which end after 10 and 20 seconds.
RunRecord TwoUpdates() {
  RunRecord run;
  run.curve = {EndsAt(10), EndsAt(20)};
  run.fills = {{.begin = 0, .end = 4}, {.begin = 8, .end = 13}};
  run.trainings = {{.begin = 4, .end = 10}, {.begin = 13, .end = 20}};
  return run;
}

TEST(BusyChart, SplitsAFillThatSpansTwoUpdates) {
  const Chart chart = BusyChart(TwoUpdates());
  ASSERT_EQ(chart.series.size(), 2U);
  const std::vector<Point>& generating = chart.series[0].points;
  const std::vector<Point>& training = chart.series[1].points;
  ASSERT_EQ(generating.size(), 2U);
  EXPECT_NEAR(generating[0].y, 60, kTolerance);  // 0 to 4 and 8 to 10
  EXPECT_NEAR(generating[1].y, 30, kTolerance);  // 10 to 13
  EXPECT_NEAR(training[0].y, 60, kTolerance);
  EXPECT_NEAR(training[1].y, 70, kTolerance);
  EXPECT_EQ(generating[1].x, 2);
}

TEST(Overlap, CountsOnlyWhatIsInsideTheWindow) {
  const std::vector<Interval> intervals = {{.begin = 1, .end = 3}, {.begin = 5, .end = 9}};
  EXPECT_NEAR(Overlap(intervals, {.begin = 2, .end = 6}), 2, kTolerance);
  EXPECT_EQ(Overlap(intervals, {.begin = 3, .end = 5}), 0);
  EXPECT_EQ(Overlap(intervals, {.begin = 9, .end = 20}), 0);
  EXPECT_EQ(Overlap({}, {.begin = 0, .end = 20}), 0);
}

TEST(OverlapElement, ShowsTheLastUpdates) {
  const std::string last = OverlapElement(TwoUpdates(), 1);
  EXPECT_THAT(last, HasSubstr("second 8.00 of the run"));
  EXPECT_THAT(last, HasSubstr(">20.00<"));
  EXPECT_THAT(last, HasSubstr("x=\"90.0\" y=\"0.0\" width=\"379.2\""));  // the fill, 8 to 13
  EXPECT_THAT(OverlapElement(TwoUpdates(), 5), HasSubstr("second 0.00 of the run"));
  EXPECT_EQ(OverlapElement(RunRecord(), 5), "");
}

}  // namespace
}  // namespace tandem
