// Tests the charts of a learning curve.
#include <gtest/gtest.h>

#include "report/report_page.h"

namespace tandem {
namespace {

EvaluatedNetwork Network(const std::string& name, std::int64_t examples, double seconds,
                         std::int64_t solved) {
  std::vector<SolveOutcome> outcomes(4);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    outcomes[i] = {.solved = std::cmp_less(i, solved), .length = 10, .nodes = 1, .seconds = 0};
  }
  return {.name = name,
          .file = name + ".pt",
          .iterations = examples / 10,
          .examples = examples,
          .trained_s = seconds,
          .figures = Summarise(outcomes, 1)};
}

UpdatePoint Validated(double seconds, std::int64_t examples, double solve_rate) {
  UpdatePoint point;
  point.iterations = examples / 10;
  point.examples = examples;
  point.seconds = seconds;
  point.loss = 3;
  point.solve_rate = solve_rate;
  return point;
}

std::vector<UpdatePoint> Training() {
  return {Validated(0, 0, 0), Validated(10, 500, 0.25), Validated(20, 1000, 0.5)};
}

std::vector<EvaluatedNetwork> Networks() {
  return {Network("update 1", 500, 10, 1), Network("update 2", 1000, 20, 2)};
}

TEST(LearningCharts, ShowEvaluationsAndValidationsOverSeconds) {
  const Chart rates = LearningCharts(Training(), Networks()).front();
  EXPECT_EQ(rates.x_name, "seconds of training");
  EXPECT_EQ(rates.across.most, 20);
  const Series& solved = rates.series.front();
  EXPECT_EQ(solved.name, "solved by the search");
  ASSERT_EQ(solved.points.size(), 2U);
  EXPECT_EQ(solved.points[1].x, 20);
  EXPECT_EQ(solved.points[1].y, 50);
  ASSERT_TRUE(solved.best);
  EXPECT_EQ(solved.best->x, 20);
  EXPECT_EQ(rates.series.back().name, "validation states solved during training");
  EXPECT_EQ(rates.series.back().points.size(), 3U);
}

TEST(LearningCharts, LeaveOutWhatWasNotMeasured) {
  const std::vector<Chart> charts = LearningCharts(Training(), Networks());
  EXPECT_TRUE(charts[0].series[1].points.empty());  // no known lengths
  EXPECT_FALSE(charts[2].has_points());             // no validation errors
  EXPECT_TRUE(charts[3].has_points());
}

TEST(LearningCharts, CountLongRunsInHours) {
  std::vector<UpdatePoint> training = Training();
  training.push_back(Validated(36'000, 2000, 0.5));
  const Chart rates = LearningCharts(training, Networks()).front();
  EXPECT_EQ(rates.x_name, "hours of training");
  EXPECT_EQ(rates.across.most, 10);
}

TEST(ChartElement, ThinsLongCurves) {
  std::vector<UpdatePoint> training = Training();
  for (int i = 1; i <= 100'000; ++i) training.push_back(Validated(20 + i, 1000 + i, 0.5));
  EXPECT_LT(ChartElement(LearningCharts(training, Networks()).front()).size(), 30'000);
}

TEST(ChartElement, DrawsASingleNetworkAsADot) {
  const std::vector networks = {Networks().front()};
  EXPECT_NE(ChartElement(LearningCharts({}, networks).front()).find("<circle"), std::string::npos);
}

}  // namespace
}  // namespace tandem
