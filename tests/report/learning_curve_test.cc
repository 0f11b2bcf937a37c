// Tests the figure of a learning curve.
#include "report/learning_curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem {
namespace {

using testing::HasSubstr;
using testing::Not;

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
  return {.title = "a < b",
          .training = {Validated(0, 0, 0), Validated(10, 500, 0.25), Validated(20, 1000, 0.5)},
          .networks = {Network("update 1", 500, 10, 1), Network("update 2", 1000, 20, 2)}};
}

TEST(LearningCurve, DrawsEvaluationsAndValidationsOverSeconds) {
  const std::string figure = LearningCurveFigure(Curve());
  EXPECT_THAT(figure, HasSubstr(">a &lt; b<"));
  EXPECT_THAT(figure, HasSubstr("seconds of training"));
  EXPECT_THAT(figure, HasSubstr(">solved by the search<"));
  EXPECT_THAT(figure, HasSubstr(">validation states solved during training<"));
  // 10 and 20 of 20 seconds along 404 pixels from 60; 25 and 50 of 100 % up 188 pixels from 258.
  EXPECT_THAT(figure, HasSubstr("points=\"262.0,211.0 464.0,164.0 \""));
  EXPECT_THAT(figure, HasSubstr("points=\"60.0,258.0 262.0,211.0 464.0,164.0 \""));
  EXPECT_THAT(figure, HasSubstr("The pale disc marks the network that solves best: update 2."));
  EXPECT_THAT(figure, HasSubstr("cx=\"464.0\" cy=\"164.0\" r=\"9\""));
}

TEST(LearningCurve, LeavesOutWhatWasNotMeasured) {
  const std::string figure = LearningCurveFigure(Curve());
  EXPECT_THAT(figure, Not(HasSubstr("shortest solution")));
  EXPECT_THAT(figure, HasSubstr(">not measured<"));  // no known lengths, and no validation errors
}

TEST(LearningCurve, CountsManyExamplesInMillions) {
  LearningCurve curve = Curve();
  curve.axis = CurveAxis::kExamples;
  EXPECT_THAT(LearningCurveFigure(curve), HasSubstr(">training examples<"));
  curve.networks.push_back(Network("update 3", 40'000'000, 30, 3));
  EXPECT_THAT(LearningCurveFigure(curve), HasSubstr(">millions of training examples<"));
}

TEST(LearningCurve, ThinsLongCurves) {
  LearningCurve curve = Curve();
  for (int i = 1; i <= 100'000; ++i) curve.training.push_back(Validated(20 + i, 1000 + i, 0.5));
  EXPECT_LT(LearningCurveFigure(curve).size(), 100'000);
}

TEST(LearningCurve, DrawsASingleNetworkWithoutMetrics) {
  LearningCurve curve = Curve();
  curve.networks.resize(1);
  curve.training.clear();
  const std::string figure = LearningCurveFigure(curve);
  EXPECT_THAT(figure, HasSubstr("<circle cx=\"464.0\""));
  EXPECT_THAT(figure, Not(HasSubstr("solves best")));
}

}  // namespace
}  // namespace tandem
