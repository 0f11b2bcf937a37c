#include "compare/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem {
namespace {

using testing::HasSubstr;
using testing::Not;

// A run of 10 updates that took `seconds` after a cold start of 1 s, validated at its middle and
// its end.
RunRecord RunOf(double seconds, double solved_midway, double solved, const std::string& weights) {
  RunRecord run{.updates = 10,
                .examples = 1000,
                .final_loss = 2,
                .weights_sha256 = weights,
                .seconds = seconds,
                .generate_s = 6,
                .train_s = 4,
                .core_s = 14,
                .cores = 2};
  run.curve = {
      {.iterations = 50, .seconds = 1 + seconds / 2, .loss = 3, .solve_rate = solved_midway},
      {.iterations = 100, .seconds = 1 + seconds, .loss = 2, .solve_rate = solved}};
  return run;
}

VariantRuns Runs(const std::string& mode, std::vector<RunRecord> runs) {
  return {.variant = {.name = mode, .mode = mode, .varied = {}}, .runs = std::move(runs)};
}

TEST(Compare, TellsMedianAndRangeOverTheSeeds) {
  const std::vector<VariantRuns> variants = {
      Runs("sequential", {RunOf(10, 0, 0, "a"), RunOf(20, 0, 0, "b"), RunOf(12.5, 0, 0, "c")})};
  const Row row = Compare(variants).front();
  EXPECT_DOUBLE_EQ(row.updates_per_s.median, 0.8);
  EXPECT_DOUBLE_EQ(row.updates_per_s.least, 0.5);
  EXPECT_DOUBLE_EQ(row.updates_per_s.most, 1.0);
  EXPECT_DOUBLE_EQ(row.speed_up.median, 1);
  EXPECT_FALSE(row.efficiency);
}

TEST(Compare, PairsTheSeedsForSpeedUpAndWeights) {
  const std::vector<VariantRuns> variants = {
      Runs("sequential", {RunOf(10, 0, 0, "a"), RunOf(20, 0, 0, "b")}),
      Runs("async", {RunOf(5, 0, 0, "a"), RunOf(16, 0, 0, "b")}),
      Runs("sync_main", {RunOf(5, 0, 0, "a"), RunOf(16, 0, 0, "x")})};
  const std::vector<Row> rows = Compare(variants);
  EXPECT_DOUBLE_EQ(rows[1].speed_up.least, 1.25);
  EXPECT_DOUBLE_EQ(rows[1].speed_up.most, 2);
  EXPECT_TRUE(rows[1].weights_equal_first);
  EXPECT_FALSE(rows[2].weights_equal_first);
}

TEST(Compare, MeasuresOverlapAgainstTheLargestOfItsBounds) {
  const RunRecord sequential = RunOf(10, 0, 0, "a");
  EXPECT_DOUBLE_EQ(IdealOf(sequential).seconds, 7);  // 14 core-seconds on 2 cores
  EXPECT_EQ(IdealOf(sequential).bound_by, "cores");
  RunRecord spare = sequential;
  spare.cores = 16;
  EXPECT_DOUBLE_EQ(IdealOf(spare).seconds, 6);
  EXPECT_EQ(IdealOf(spare).bound_by, "generator");
  spare.gpu_s = 6.5;
  EXPECT_EQ(IdealOf(spare).bound_by, "GPU");
  spare.train_s = 8;
  EXPECT_EQ(IdealOf(spare).bound_by, "training");

  const std::vector<VariantRuns> variants = {Runs("sequential", {sequential}),
                                             Runs("async", {RunOf(8, 0, 0, "a")})};
  EXPECT_DOUBLE_EQ(Compare(variants)[1].efficiency->median, 7.0 / 8);
}

TEST(Compare, TellsWhatBoundsTheIdealOfEachSeed) {
  RunRecord by_training = RunOf(10, 0, 0, "a");
  by_training.train_s = 8;
  const RunRecord by_cores = RunOf(10, 0, 0, "a");
  const RunRecord overlapped = RunOf(9, 0, 0, "a");
  const std::vector<VariantRuns> variants = {
      Runs("sequential", {by_training, by_cores, by_training}),
      Runs("async", {overlapped, overlapped, overlapped})};
  EXPECT_EQ(Compare(variants)[1].bound_by, "training, cores");
}

TEST(Compare, SolveRatesAreThoseWhenTheFastestWasDone) {
  const std::vector<VariantRuns> variants = {Runs("sequential", {RunOf(10, 0.25, 0.75, "a")}),
                                             Runs("async", {RunOf(5, 0.25, 0.75, "a")})};
  const std::vector<Row> rows = Compare(variants);
  EXPECT_DOUBLE_EQ(rows[0].solve_rate->median, 0.75);
  EXPECT_DOUBLE_EQ(rows[0].solve_rate_equal_time->median, 0.25);
  EXPECT_DOUBLE_EQ(rows[1].solve_rate_equal_time->median, 0.75);
}

TEST(Compare, WithoutValidationThereIsNoSolveRate) {
  RunRecord run = RunOf(10, 0, 0, "a");
  for (UpdatePoint& point : run.curve) point.solve_rate.reset();
  const std::vector<VariantRuns> variants = {Runs("async", {run})};
  EXPECT_FALSE(Compare(variants).front().solve_rate);
}

TEST(Verdicts, CallNoDifferenceWhatLiesWithinTheSpread) {
  const std::vector<VariantRuns> variants = {
      Runs("sequential", {RunOf(10, 0, 0.5, "a"), RunOf(10, 0, 0.6, "b")}),
      Runs("async", {RunOf(9, 0, 0.55, "a"), RunOf(11, 0, 0.65, "b")}),
      Runs("sync_main", {RunOf(5, 0, 0.7, "a"), RunOf(4, 0, 0.8, "b")})};
  const std::vector<std::string> verdicts = Verdicts(Compare(variants), 2);
  ASSERT_EQ(verdicts.size(), 2);
  EXPECT_THAT(verdicts[0], HasSubstr("no difference in speed beyond the spread (0.909 to 1.111)"));
  EXPECT_THAT(verdicts[0], HasSubstr("equal iterations no difference in solve rate"));
  EXPECT_THAT(verdicts[1], HasSubstr("2.250x as fast (2.000 to 2.500 over 2 seeds)"));
  EXPECT_THAT(verdicts[1], HasSubstr("equal iterations it solves 75.0 % and not 55.0 %"));
}

TEST(Verdicts, OfOneSeedKnowNoSpread) {
  const std::vector<VariantRuns> variants = {Runs("sequential", {RunOf(10, 0, 0.5, "a")}),
                                             Runs("async", {RunOf(5, 0, 0.7, "a")})};
  const std::string verdict = Verdicts(Compare(variants), 1).front();
  EXPECT_THAT(verdict, HasSubstr("2.000x as fast (one seed, so the spread is not known)"));
  EXPECT_THAT(verdict, Not(HasSubstr("solve")));
}

}  // namespace
}  // namespace tandem
