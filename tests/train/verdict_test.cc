// Tests the sentence that says whether the network is learning.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/load.h"
#include "train/report.h"

namespace tandem {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Config MakeConfig(const std::string& yaml = "validation: {states: 100}\n") {
  return ParseConfig(yaml, "test.yaml");
}

RunCounters Rates(double at_start, double now, double best) {
  RunCounters run;
  run.at_start = {.solve_rate = at_start, .value_error = 10};
  run.validation = {.solve_rate = now, .value_error = 9.9, .states = 200};
  run.best = {.solve_rate = best, .value_error = 9.9};
  run.best_update = 7;
  return run;
}

TEST(Verdict, SaysInWordsWhetherTheNetworkLearns) {
  EXPECT_EQ(DescribeLearning(Rates(0.04, 0.465, 0.465), MakeConfig()),
            "the network is learning: greedy descent solves 46.5 % of the validation states, and "
            "solved 4.0 % before training");
  EXPECT_THAT(DescribeLearning(Rates(0.04, 0.05, 0.05), MakeConfig()),
              StartsWith("the network shows no sign of learning yet"));
  EXPECT_THAT(DescribeLearning(Rates(0.04, 0.1, 0.6), MakeConfig()),
              AllOf(StartsWith("the network was learning and has got worse"),
                    HasSubstr("60.0 % after update 7")));
  EXPECT_THAT(DescribeLearning(Rates(0.9, 0.2, 0.2), MakeConfig()),
              StartsWith("the network has got worse"));
  EXPECT_THAT(DescribeLearning(Rates(0.9, 0.9, 0.9), MakeConfig()),
              StartsWith("the network solves about as many states as before"));
}

// 9 of 200 states after 2 of 200.
TEST(Verdict, DifferenceThatChanceCanExplainIsNoLearning) {
  EXPECT_EQ(DescribeLearning(Rates(0.01, 0.045, 0.045), MakeConfig("validation: {states: 200}\n")),
            "the network shows no sign of learning yet: greedy descent solves 4.5 % of the "
            "validation states, and solved 1.0 % before training, which chance can explain; train "
            "longer, or lower generate.max_scramble (now 26)");
  EXPECT_THAT(DescribeLearning(Rates(0.01, 0.1, 0.1), MakeConfig("validation: {states: 200}\n")),
              StartsWith("the network is learning"));
}

TEST(Verdict, SaysHowFarBackedUpLabelsReach) {
  const Config config = MakeConfig(
      "generate: {target: value_iteration, max_scramble: 200}\n"
      "validation: {states: 100}\n");
  EXPECT_THAT(DescribeLearning(Rates(0.04, 0.05, 0.05), config, 7),
              HasSubstr("; labels reach 7, scrambles 200; train longer"));
  EXPECT_THAT(DescribeLearning(Rates(0.04, 0.5, 0.5), config, 7),
              EndsWith("; labels reach 7, scrambles 200"));
  EXPECT_THAT(DescribeLearning(Rates(0.04, 0.5, 0.5), MakeConfig(), 7),
              Not(HasSubstr("labels reach")));
}

TEST(Verdict, FewerStatesThanTheConfigAsksForAreWeakerEvidence) {
  RunCounters run = Rates(0.25, 0.5, 0.5);
  EXPECT_THAT(DescribeLearning(run, MakeConfig()), StartsWith("the network is learning"));
  run.validation->states = 4;
  EXPECT_THAT(DescribeLearning(run, MakeConfig()), HasSubstr("no sign of learning"));
}

TEST(Verdict, SaysWhichShareOfTheScheduleATimeLimitLeft) {
  Config config = MakeConfig(
      "train: {max_updates: 101, iterations_per_update: 10, max_seconds: 9}\n"
      "optimizer: {schedule: linear}\n");
  RunSummary summary;
  summary.end = RunEnd::kTimeLimit;
  summary.updates = 13;
  summary.iterations = 131;
  EXPECT_EQ(DescribeSchedule(summary, config),
            "the time limit came after 13 of 101 updates, 13 % of the learning-rate schedule; set "
            "train.max_updates to auto, so that the schedule ends with the time");
  summary.iterations = 1000;
  EXPECT_EQ(DescribeSchedule(summary, config), "");
  summary.iterations = 131;
  config.optimizer.schedule = Schedule::kConstant;
  EXPECT_EQ(DescribeSchedule(summary, config), "");
}

TEST(Verdict, NamesTheBeamIfBeamsSolveTheStates) {
  const Config config = MakeConfig("validation: {states: 100, beam_width: 64}\n");
  EXPECT_THAT(DescribeLearning(Rates(0.04, 0.465, 0.465), config),
              HasSubstr("beam search with width 64 solves 46.5 % of the validation states"));
}

TEST(Verdict, PolicyIsJudgedByItsSolveRateAlone) {
  RunCounters run = Rates(0.04, 0.05, 0.05);
  run.at_start->value_error.reset();
  run.validation->value_error.reset();
  EXPECT_THAT(DescribeLearning(run, MakeConfig()), HasSubstr("no sign of learning"));
  EXPECT_EQ(DescribeValueError(run.validation->value_error, MakeConfig()), "");
}

TEST(Verdict, LowerErrorCountsAsLearningForWalkLengths) {
  RunCounters run = Rates(0.04, 0.05, 0.05);
  run.validation->value_error = 3;
  EXPECT_THAT(DescribeLearning(run, MakeConfig()),
              HasSubstr("the error against walk lengths fell from 10.00 to 3.00"));
  EXPECT_THAT(DescribeLearning(run, MakeConfig("generate: {target: value_iteration}\n")),
              HasSubstr("no sign of learning"));
}

TEST(Verdict, SaysThatLearningIsUnknownWithoutValidation) {
  EXPECT_THAT(DescribeLearning({}, MakeConfig("validation: {every_updates: 0}\n")),
              HasSubstr("unknown, because validation.every_updates is 0"));
  EXPECT_THAT(DescribeLearning({}, MakeConfig()), HasSubstr("before its first validation"));
  EXPECT_THAT(DescribeLearning({}, MakeConfig("generate: {target: self_play}\n"
                                              "network: {head: vp}\n"
                                              "validation: {every_updates: 0}\n")),
              EndsWith("compare it with the untrained network by `tandem evaluate`"));
}

TEST(Verdict, NameOfTheErrorDependsOnTheReference) {
  EXPECT_EQ(DescribeValueError(2.488, MakeConfig()), ", error against walk lengths 2.49");
  EXPECT_EQ(DescribeValueError(2.488, MakeConfig("generate: {target: value_iteration}\n")), "");
  const Config file = MakeConfig("validation: {file: states.jsonl}\n");
  EXPECT_EQ(DescribeValueError(2.488, file), ", error against optimal lengths 2.49");
  EXPECT_EQ(ErrorKey(file), "value_error");
  EXPECT_EQ(ErrorKey(MakeConfig()), "walk_length_error");
}

TEST(Verdict, TargetsGrowOnlyIfANetworkLabels) {
  EXPECT_FALSE(HasGrowingTargets(MakeConfig()));
  EXPECT_TRUE(HasGrowingTargets(MakeConfig("generate: {target: capped_value_iteration}\n")));
  EXPECT_FALSE(HasGrowingTargets(
      MakeConfig("generate: {target: value_iteration}\ndata: {source: shards, path: x}\n")));
}

}  // namespace
}  // namespace tandem
