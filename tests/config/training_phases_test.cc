#include "config/training_phases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "config/error_for.h"
#include "config/load.h"
#include "config/write.h"

namespace tandem {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kFineTuned =
    "train: {max_updates: 100}\n"
    "optimizer: {learning_rate: 0.01, schedule: linear}\n"
    "phases:\n"
    "  - from: 0.5\n"
    "    optimizer: {learning_rate: 0.001}\n"
    "  - from: 0.9\n"
    "    generate: {target: capped_value_iteration, ball_radius: 3}\n"
    "    optimizer: {schedule: constant, learning_rate: 2e-5}\n";

TEST(Phases, EachChangesOnlyItsOwnKeysOfTheRun) {
  const Config run = ParseConfig(kFineTuned, "my.yaml");
  ASSERT_EQ(run.phases.size(), 2);
  const Config first = ConfigOfPhase(run, 0);
  EXPECT_EQ(first.optimizer.learning_rate, 0.01);
  EXPECT_TRUE(first.phases.empty());
  const Config second = ConfigOfPhase(run, 1);
  EXPECT_EQ(second.optimizer.learning_rate, 0.001);
  EXPECT_EQ(second.optimizer.schedule, Schedule::kLinear);
  EXPECT_EQ(second.generate.target, Target::kWalkLength);
  const Config third = ConfigOfPhase(run, 2);
  EXPECT_EQ(third.optimizer.learning_rate, 2e-5);
  EXPECT_EQ(third.optimizer.schedule, Schedule::kConstant);
  EXPECT_EQ(third.generate.target, Target::kCappedValueIteration);
  EXPECT_EQ(third.generate.ball_radius, 3);
}

TEST(Phases, AreReadBackAsTheyWereWritten) {
  const Config run = ParseConfig(kFineTuned, "my.yaml");
  const Config again = ParseConfig(ToYaml(run), "again.yaml");
  EXPECT_EQ(again.phases, run.phases);
  EXPECT_EQ(ToYaml(again), ToYaml(run));
}

TEST(Phases, CanBeRemovedOnTheCommandLineAndNotChanged) {
  EXPECT_TRUE(ParseConfig(kFineTuned, "my.yaml", {ParseOverride("phases=null")}).phases.empty());
  EXPECT_THAT(ErrorFor(kFineTuned, {"phases=3"}), HasSubstr("can only remove phases"));
}

TEST(Phases, SectionWithoutKeysChangesNothing) {
  const Config run = ParseConfig(
      "phases:\n  - from: 0.5\n    generate:\n      # ball_radius: 3\n"
      "    optimizer: {learning_rate: 0.1}\n",
      "my.yaml");
  ASSERT_EQ(run.phases.size(), 1);
  ASSERT_EQ(run.phases[0].settings.size(), 1);
  EXPECT_EQ(run.phases[0].settings[0].first, "optimizer.learning_rate");
  EXPECT_THAT(ErrorFor("phases:\n  - from: 0.5\n    generate: 3\n"),
              HasSubstr("my.yaml:3: `generate` is a section, expected keys under it"));
}

TEST(Phases, KeysOfTheWholeRunCannotChange) {
  for (const char* setting :
       {"network: {width: 512}", "train: {batch_size: 10}", "train: {iterations_per_update: 10}",
        "generate: {workers: 1}", "domain: {name: cube2}", "seed: 3", "pipeline: {mode: sync_main}",
        "validation: {states: 3}", "replay: {updates: 2}"}) {
    const std::string key = std::string(setting).substr(0, std::string(setting).find(':'));
    EXPECT_THAT(ErrorFor("phases:\n  - from: 0.5\n    " + std::string(setting) + "\n"),
                AllOf(HasSubstr("my.yaml:3: a phase cannot change `" + key),
                      HasSubstr("generate (except workers), optimizer")))
        << setting;
  }
}

TEST(Phases, ErrorsNameTheLineAndWhatWasExpected) {
  const auto error = [](const std::string& phases) { return ErrorFor("phases:\n" + phases); };
  EXPECT_THAT(error("  optimizer: {}\n"), HasSubstr("my.yaml:1: `phases` is not a list"));
  EXPECT_THAT(error("  - 0.5\n"), HasSubstr("my.yaml:2: phase 1 is not a map"));
  EXPECT_THAT(error("  - optimizer: {learning_rate: 0.1}\n"), HasSubstr("has no `from`"));
  EXPECT_THAT(error("  - from: 1\n"), HasSubstr("my.yaml:2: `from` is '1', expected a number"));
  EXPECT_THAT(error("  - from: 0\n"), HasSubstr("above 0 and below 1"));
  EXPECT_THAT(error("  - from: 0.5\n  - from: 0.5\n"),
              HasSubstr("my.yaml:3: `from` is '0.5', expected a number above 0.5"));
  EXPECT_THAT(error("  - from: 0.5\n    optimizer: {learning_rat: 1}\n"),
              HasSubstr("my.yaml:3: unknown key `optimizer.learning_rat`; did you mean"));
  EXPECT_THAT(error("  - from: 0.5\n    optimizer: {learning_rate: 11}\n"),
              HasSubstr("my.yaml:3: `optimizer.learning_rate` is '11', expected a number from 0"));
  EXPECT_THAT(error("  - from: 0.5\n    optimizer: {}\n    from: 0.6\n"),
              HasSubstr("my.yaml:4: `from` is set twice, first at my.yaml:2. Remove one."));
  EXPECT_THAT(error("  - from: 0.5\n    optimizer: {learning_rate: 1, learning_rate: 2}\n"),
              HasSubstr("my.yaml:3: `optimizer.learning_rate` is set twice"));
}

TEST(Phases, ContradictionsAreFoundBeforeTheRunAndNameThePhase) {
  EXPECT_THAT(ErrorFor("phases:\n  - from: 0.5\n    generate: {target: policy}\n"),
              AllOf(HasSubstr("phase 1: "), HasSubstr("`generate.target: policy` (my.yaml:3)"),
                    HasSubstr("`network.head: v` (the default)")));
  EXPECT_THAT(ErrorFor("phases:\n  - from: 0.5\n    generate: {anchor_share: 0.1}\n"),
              HasSubstr("anchors are drawn from the ball"));
}

TEST(Phases, BeginAtTheirShareOfTheUpdates) {
  Config run = ParseConfig(kFineTuned, "my.yaml");
  EXPECT_EQ(FirstUpdateOfPhase(run, 1, 100), 50);
  EXPECT_EQ(FirstUpdateOfPhase(run, 2, 100), 90);
  EXPECT_EQ(PhaseAt(run, 0), 0);
  EXPECT_EQ(PhaseAt(run, 49), 0);
  EXPECT_EQ(PhaseAt(run, 50), 1);
  EXPECT_EQ(PhaseAt(run, 90), 2);
  EXPECT_EQ(PhaseAt(run, 99), 2);
  run.train.max_updates = 2;  // both phases begin at update 1, so the first one has no update
  EXPECT_EQ(PhaseAt(run, 0), 0);
  EXPECT_EQ(PhaseAt(run, 1), 2);
  run.train.max_updates = 1;
  EXPECT_EQ(PhaseAt(run, 0), 0);
}

TEST(Phases, SchedulesCoverOnePhaseEach) {
  const Config run = ParseConfig(kFineTuned, "my.yaml");
  for (const auto& [phase, first, end] :
       {std::tuple(0, 0, 50), std::tuple(1, 50, 90), std::tuple(2, 90, 100)}) {
    const PhasePlan plan = PlanOfPhase(run, phase, first);
    EXPECT_EQ(plan.end(), end);
    EXPECT_EQ(plan.updates.Done(0, 10), 0);
    EXPECT_EQ(plan.updates.Done((end - first) * 10 - 1, 10), 1);
  }
}

TEST(Phases, FollowARevisedPlan) {
  Config run = ParseConfig(kFineTuned, "my.yaml");
  run.phases.erase(run.phases.begin());  // one phase, from 90 %
  run.train.plan = "0:100 40:60 54:80";  // phase 1: at 90, then at 54, then at 72
  run.train.max_updates = 80;
  EXPECT_EQ(PhaseAt(run, 53), 0);
  EXPECT_EQ(PhaseAt(run, 54), 0);
  EXPECT_EQ(PhaseAt(run, 71), 0);
  EXPECT_EQ(PhaseAt(run, 72), 1);
  EXPECT_EQ(PlanOfPhase(run, 0, 0).end(), 72);
  EXPECT_EQ(PlanOfPhase(run, 0, 0).updates.text(), "0:90 40:54 54:72");
  EXPECT_EQ(PlanOfPhase(run, 1, 72).updates.text(), "0:8");

  run.train.plan = "0:100 60:64";  // the revision says that phase 1 should have begun: it begins
  run.train.max_updates = 64;
  EXPECT_EQ(PhaseAt(run, 59), 0);
  EXPECT_EQ(PhaseAt(run, 60), 1);
  EXPECT_EQ(PlanOfPhase(run, 0, 0).updates.text(), "0:90");
  EXPECT_EQ(PlanOfPhase(run, 1, 60).updates.text(), "0:4");
}

}  // namespace
}  // namespace tandem
