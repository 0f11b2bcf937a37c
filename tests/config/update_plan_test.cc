#include "config/update_plan.h"

#include <gtest/gtest.h>

#include "config/load.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr std::int64_t kIterations = 10;  // per update

TEST(UpdatePlan, WithoutRevisionsSpreadsTheScheduleEvenly) {
  const UpdatePlan plan(3);
  EXPECT_EQ(plan.Done(0, kIterations), 0);
  EXPECT_EQ(plan.Done(7, kIterations), 7.0 / 29);
  EXPECT_EQ(plan.Done(29, kIterations), 1);
  EXPECT_EQ(UpdatePlan(1).Done(0, 1), 0);
}

TEST(UpdatePlan, RevisionSpreadsTheRestOfTheScheduleOverRemainingUpdates) {
  UpdatePlan plan(10);
  plan.Revise(5, 7);
  const double before = 50.0 / 99;
  EXPECT_DOUBLE_EQ(plan.Done(49, kIterations), 49.0 / 99);
  EXPECT_DOUBLE_EQ(plan.Done(50, kIterations), before);
  EXPECT_DOUBLE_EQ(plan.Done(59, kIterations), before + (1 - before) * 9 / 19);
  EXPECT_DOUBLE_EQ(plan.Done(69, kIterations), 1);
  EXPECT_EQ(plan.updates(), 7);
}

TEST(UpdatePlan, ParseReadsWhatTextWrites) {
  UpdatePlan plan(180);
  plan.Revise(12, 150);
  plan.Revise(40, 163);
  EXPECT_EQ(plan.text(), "0:180 12:150 40:163");
  EXPECT_EQ(UpdatePlan::Parse(plan.text()).revisions(), plan.revisions());
  plan.ForgetFrom(40);
  EXPECT_EQ(plan.text(), "0:180 12:150");
  plan.ForgetFrom(0);
  EXPECT_EQ(plan.text(), "0:180");
}

TEST(UpdatePlan, ParseRejectsTextThatIsNotAPlan) {
  for (const char* wrong : {"", " ", "180", "0:", ":3", "0:0", "1:5", "0:5 5:9", "0:9 5:5",
                            "0:9 4:8 4:7", "0:-3", "0:5  2:6", "0:5 x:6", "0:1e3", "0:5:6"}) {
    EXPECT_THROW(UpdatePlan::Parse(wrong), InputError) << wrong;
  }
}

TEST(UpdatePlan, PlanInAConfigMustEndWithMaxUpdates) {
  const auto error_of = [](const std::string& train) -> std::string {
    try {
      ParseConfig("train: {" + train + "}", "my.yaml");
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(error_of("max_updates: 6, plan: '0:9 2:6'"), "");
  EXPECT_NE(error_of("max_updates: 7, plan: '0:9 2:6'").find("the plan ends with 6 updates"),
            std::string::npos);
  EXPECT_NE(error_of("max_updates: 6, plan: '2:6'").find("is not a plan"), std::string::npos);
  EXPECT_NE(error_of("max_updates: auto, max_seconds: 9, plan: '0:6'").find("with auto"),
            std::string::npos);
  // Its iterations would not fit into 64 bits.
  EXPECT_NE(error_of("max_updates: 6, plan: '0:9000000000000000000 2:6'")
                .find("a revision plans more than 10^18 iterations"),
            std::string::npos);
}

// Simulates a run that follows its plan to the end. An update takes `seconds_of(update)`.
struct Simulated {
  template <class SecondsOf>
  Simulated(std::int64_t planned, double limit_s, const SecondsOf& seconds_of) : plan(planned) {
    UpdatePacer pacer;
    for (std::int64_t update = 0; update < plan.updates(); ++update) {
      pacer.Begins(update, elapsed_s);
      plan = pacer.Revised(plan, limit_s);
      elapsed_s += seconds_of(update);
    }
  }

  UpdatePlan plan;
  double elapsed_s = 0;
};

TEST(UpdatePacer, UsesTheWholeTimeIfUpdatesAreFasterThanPlanned) {
  const Simulated run(40, 175, [](std::int64_t) { return 2.5; });  // 40 updates would take 100 s
  EXPECT_LE(run.elapsed_s, 175);
  EXPECT_GT(run.elapsed_s, 0.96 * 175);
  EXPECT_EQ(run.plan.Done(run.plan.updates() * kIterations - 1, kIterations), 1);
}

TEST(UpdatePacer, EndsInTimeWhereShortUpdatesVaryByMoreThanTheirLength) {
  for (std::int64_t period = 2; period < 40; ++period) {
    const Simulated run(1000, 4,
                        [&](std::int64_t update) { return update % period == 0 ? 0.04 : 0.004; });
    EXPECT_LE(run.elapsed_s, 4) << period;
    EXPECT_GT(run.elapsed_s, 0.94 * 4) << period;
  }
}

TEST(UpdatePacer, EndsInTimeWhereTheMachineBecomesSlower) {
  const Simulated run(100, 175, [](std::int64_t update) { return update < 30 ? 1.5 : 4.0; });
  EXPECT_LE(run.elapsed_s, 175);
  EXPECT_GT(run.elapsed_s, 0.94 * 175);
}

TEST(UpdatePacer, KeepsAPlanThatIsNearlyRight) {
  const Simulated run(170, 175, [](std::int64_t) { return 1.0; });
  EXPECT_LE(run.plan.revisions().size(), 3U);
  EXPECT_GE(run.plan.updates(), 170);
}

TEST(UpdatePacer, LeavesTheColdStartOutOfTheEstimate) {
  UpdatePacer pacer;
  const double began[] = {0, 100, 101, 102};
  for (std::int64_t update = 0; update < 3; ++update) pacer.Begins(update, began[update]);
  EXPECT_EQ(pacer.Revised(UpdatePlan(9), 202).updates(), 9);  // too few updates for an estimate
  pacer.Begins(3, began[3]);
  EXPECT_EQ(pacer.Revised(UpdatePlan(9), 202).updates(), 3 + 95);
}

TEST(UpdatesThatFit, KeepsAMarginAndPlansAtLeastOne) {
  EXPECT_EQ(UpdatesThatFit(100, 0, 1), 97);
  EXPECT_EQ(UpdatesThatFit(100, 50, 1), 47);
  EXPECT_EQ(UpdatesThatFit(100, 0, 1000), 1);
  EXPECT_EQ(UpdatesThatFit(100, 101, 1), 1);
  EXPECT_EQ(UpdatesThatFit(100, 0, 0), 1);  // times that the clock cannot tell apart
}

}  // namespace
}  // namespace tandem
