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

LearningCurve Curve() {
  return {.training = {Validated(0, 0, 0), Validated(10, 500, 0.25), Validated(20, 1000, 0.5)},
          .networks = {Network("update 1", 500, 10, 1), Network("update 2", 1000, 20, 2)}};
}

TEST(LearningCharts, ShowEvaluationsAndValidationsOverSeconds) {
  const Chart rates = LearningCharts(Curve()).front();
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
  const std::vector<Chart> charts = LearningCharts(Curve());
  EXPECT_TRUE(charts[0].series[1].points.empty());  // no known lengths
  EXPECT_FALSE(charts[2].has_points());             // no validation errors
  EXPECT_TRUE(charts[3].has_points());
}

TEST(LearningCharts, CountLongRunsInHours) {
  LearningCurve curve = Curve();
  curve.training.push_back(Validated(36'000, 2000, 0.5));
  const Chart rates = LearningCharts(curve).front();
  EXPECT_EQ(rates.x_name, "hours of training");
  EXPECT_EQ(rates.across.most, 10);
}

TEST(ChartElement, ThinsLongCurves) {
  LearningCurve curve = Curve();
  for (int i = 1; i <= 100'000; ++i) curve.training.push_back(Validated(20 + i, 1000 + i, 0.5));
  EXPECT_LT(ChartElement(LearningCharts(curve).front()).size(), 30'000);
}

TEST(ChartElement, DrawsASingleNetworkAsADot) {
  LearningCurve curve = Curve();
  curve.networks.resize(1);
  curve.training.clear();
  EXPECT_NE(ChartElement(LearningCharts(curve).front()).find("<circle"), std::string::npos);
}

}  // namespace
}  // namespace tandem
