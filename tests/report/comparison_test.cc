// Tests of comparisons, and of the verdicts about them.
#include "report/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Returns a run of 10 updates that took `seconds` after a cold start of 1 s, with validations in
// the middle and at the end.
RunRecord RunOf(double seconds, double solved_midway, double solved, const std::string& weights) {
  RunRecord run{.updates = 10,
                .examples = 1000,
                .final_loss = 2,
                .weights_sha256 = weights,
                .seconds = seconds,
                .generate_critical_s = 6,
                .train_critical_s = 4,
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

// Returns the value of a measure of a row.
nlohmann::ordered_json ValueOf(const Row& row, const std::string& key) {
  return std::ranges::find(row.entries, key, &RowEntry::key)->json;
}

TEST(Compare, ReportsMedianAndRangeOverTheSeeds) {
  const std::vector<VariantRuns> variants = {
      Runs("sequential", {RunOf(10, 0, 0, "a"), RunOf(20, 0, 0, "b"), RunOf(12.5, 0, 0, "c")})};
  const Row row = Compare(variants).front();
  EXPECT_EQ(ValueOf(row, "updates_per_s")["median"], 0.8);
  EXPECT_EQ(ValueOf(row, "updates_per_s")["least"], 0.5);
  EXPECT_EQ(ValueOf(row, "updates_per_s")["most"], 1.0);
  EXPECT_DOUBLE_EQ(row.speed_up.spread->median, 1);
  EXPECT_TRUE(ValueOf(row, "ideal_speed_up").is_null());
}

TEST(Compare, PairsTheSeedsForSpeedUpAndWeights) {
  const std::vector<VariantRuns> variants = {
      Runs("sequential", {RunOf(10, 0, 0, "a"), RunOf(20, 0, 0, "b")}),
      Runs("async", {RunOf(5, 0, 0, "a"), RunOf(16, 0, 0, "b")}),
      Runs("sync_main", {RunOf(5, 0, 0, "a"), RunOf(16, 0, 0, "x")})};
  const std::vector<Row> rows = Compare(variants);
  EXPECT_DOUBLE_EQ(rows[1].speed_up.spread->least, 1.25);
  EXPECT_DOUBLE_EQ(rows[1].speed_up.spread->most, 2);
  EXPECT_EQ(ValueOf(rows[1], "weights_equal_first"), true);
  EXPECT_EQ(ValueOf(rows[2], "weights_equal_first"), false);
}

TEST(Compare, LargestDemandBoundsTheIdealSpeedUp) {
  const RunRecord sequential = RunOf(10, 0, 0, "a");
  EXPECT_DOUBLE_EQ(IdealOf(sequential).seconds, 7);  // 14 core-seconds on 2 cores
  EXPECT_EQ(IdealOf(sequential).side, "cores");
  RunRecord spare = sequential;
  spare.cores = 16;
  EXPECT_DOUBLE_EQ(IdealOf(spare).seconds, 6);
  EXPECT_EQ(IdealOf(spare).side, "generator");
  spare.gpu_s = 6.5;
  EXPECT_EQ(IdealOf(spare).side, "GPU");
  spare.train_critical_s = 8;
  EXPECT_EQ(IdealOf(spare).side, "training");

  const std::vector<VariantRuns> variants = {Runs("sequential", {sequential}),
                                             Runs("async", {RunOf(8, 0, 0, "a")})};
  EXPECT_EQ(ValueOf(Compare(variants)[1], "ideal_speed_up")["median"], 10.0 / 7);
}

TEST(Compare, NamesTheBoundOfEachSeed) {
  RunRecord by_training = RunOf(10, 0, 0, "a");
  by_training.train_critical_s = 8;
  const RunRecord by_cores = RunOf(10, 0, 0, "a");
  const RunRecord overlapped = RunOf(9, 0, 0, "a");
  const std::vector<VariantRuns> variants = {
      Runs("sequential", {by_training, by_cores, by_training}),
      Runs("async", {overlapped, overlapped, overlapped})};
  EXPECT_EQ(ValueOf(Compare(variants)[1], "ideal_bound_by"), "training, cores");
}

TEST(Compare, ABusyGpuIsTheBusiestSide) {
  RunRecord sequential = RunOf(10, 0, 0, "a");
  sequential.cores = 16;
  sequential.gpu_s = 10;
  const std::vector<VariantRuns> variants = {Runs("sequential", {sequential}),
                                             Runs("async", {sequential})};
  const Row row = Compare(variants)[1];
  EXPECT_EQ(ValueOf(row, "ideal_speed_up")["median"], 1);
  EXPECT_DOUBLE_EQ(row.speed_up.spread->median, 1);
  EXPECT_EQ(ValueOf(row, "busy_share")["median"], 1);
  EXPECT_EQ(ValueOf(row, "busiest_side"), "GPU");
}

TEST(Compare, BusyShareUsesOnlyTimesOfTheRunItself) {
  RunRecord slow_machine = RunOf(20, 0, 0, "a");
  slow_machine.generate_critical_s = 12;
  RunRecord async = RunOf(8, 0, 0, "a");
  async.core_s = 12;
  async.generate_critical_s = 7;
  const std::vector<VariantRuns> variants = {Runs("sequential", {slow_machine}),
                                             Runs("async", {async})};
  const Row row = Compare(variants)[1];
  EXPECT_EQ(ValueOf(row, "busy_share")["median"], 7.0 / 8);
  EXPECT_EQ(ValueOf(row, "busiest_side"), "generator");
}

TEST(Compare, BusyShareIsAtMostOne) {
  RunRecord run = RunOf(8, 0, 0, "a");
  run.core_s = 16.1;  // slightly more than 2 cores x 8 s, because clocks differ
  const std::vector<VariantRuns> variants = {Runs("async", {run})};
  EXPECT_EQ(ValueOf(Compare(variants).front(), "busy_share")["median"], 1);
}

// The slower run is half way between its two validations when the faster one ends.
TEST(Compare, SolveRatesAfterEqualSecondsAreInterpolated) {
  RunRecord slow = RunOf(10, 0.25, 0.75, "a");
  slow.curve[0].seconds = 4;
  slow.curve[1].seconds = 8;
  RunRecord fast = RunOf(5, 0.25, 0.75, "a");
  fast.curve[1].seconds = 6;
  const std::vector<VariantRuns> variants = {Runs("sequential", {slow}), Runs("async", {fast})};
  const std::vector<Row> rows = Compare(variants);
  EXPECT_DOUBLE_EQ(rows[0].solve_rate.spread->median, 0.75);
  EXPECT_DOUBLE_EQ(rows[0].solve_rate_equal_time.spread->median, 0.5);
  EXPECT_DOUBLE_EQ(rows[1].solve_rate_equal_time.spread->median, 0.75);
}

// Runs that learn at the same pace are equal after equal seconds, whichever ends first.
TEST(Compare, EqualSecondsDoNotFavourTheRunThatEndsFirst) {
  const auto run = [](double end) {
    RunRecord record = RunOf(end - 1, 0, 0, "a");
    record.curve = {{.iterations = 1, .seconds = 2, .loss = 1, .solve_rate = 0.02},
                    {.iterations = 2, .seconds = end, .loss = 1, .solve_rate = end / 100}};
    return record;
  };
  const std::vector<VariantRuns> variants = {Runs("sequential", {run(10)}),
                                             Runs("async", {run(6)})};
  const std::vector<Row> rows = Compare(variants);
  EXPECT_DOUBLE_EQ(rows[0].solve_rate_equal_time.spread->median, 0.06);
  EXPECT_DOUBLE_EQ(rows[1].solve_rate_equal_time.spread->median, 0.06);
}

TEST(Compare, NoSolveRateBeforeTheFirstValidation) {
  RunRecord slow = RunOf(30, 0.25, 0.75, "a");
  const std::vector<VariantRuns> variants = {Runs("sequential", {slow}),
                                             Runs("async", {RunOf(5, 0.25, 0.75, "a")})};
  EXPECT_FALSE(Compare(variants)[0].solve_rate_equal_time.spread);
}

TEST(Compare, WithoutValidationThereIsNoSolveRate) {
  RunRecord run = RunOf(10, 0, 0, "a");
  for (UpdatePoint& point : run.curve) point.solve_rate.reset();
  const std::vector<VariantRuns> variants = {Runs("async", {run})};
  EXPECT_FALSE(Compare(variants).front().solve_rate.spread);
}

// Returns two variants with one run per solve rate. The first variant takes 10 s.
VariantRuns Seeds(const std::string& mode, const std::vector<double>& seconds,
                  const std::vector<double>& solved) {
  std::vector<RunRecord> runs;
  for (std::size_t i = 0; i < solved.size(); ++i)
    runs.push_back(RunOf(seconds[i], 0, solved[i], "a"));
  return Runs(mode, runs);
}

const std::vector<double> kTen(5, 10.0);
const std::vector<double> kRates = {0.5, 0.52, 0.54, 0.56, 0.58};

TEST(Verdicts, FiveSeedsThatAgreeGiveTheLeastPossibleChance) {
  const std::vector<VariantRuns> variants = {
      Seeds("sequential", kTen, kRates),
      Seeds("async", {5, 5, 4, 5, 4}, {0.7, 0.72, 0.74, 0.76, 0.78})};
  const std::string verdict = Verdicts(Compare(variants), 5).front();
  EXPECT_THAT(verdict,
              HasSubstr("2.000x as fast (2.000 to 2.500 over 5 seeds; such a difference arises by "
                        "chance in 6.2 % of cases, the least possible with 5 seeds)"));
  EXPECT_THAT(verdict,
              HasSubstr("equal iterations it solves 74.0 % instead of 54.0 % (such a difference "
                        "arises by chance in 6.2 % of cases, the least possible with 5 seeds)"));
  EXPECT_THAT(verdict, EndsWith("; 6 seeds can show 3.1 %"));
  EXPECT_THAT(verdict, Not(HasSubstr("no verdict")));
}

TEST(Verdicts, SixSeedsThatAgreeNeedNoMore) {
  const std::vector<VariantRuns> variants = {
      Seeds("sequential", std::vector(6, 10.0), {0.5, 0.52, 0.54, 0.56, 0.58, 0.6}),
      Seeds("async", std::vector(6, 5.0), {0.7, 0.72, 0.74, 0.76, 0.78, 0.8})};
  EXPECT_THAT(Verdicts(Compare(variants), 6).front(),
              EndsWith("(such a difference arises by chance in 3.1 % of cases)"));
}

TEST(Verdicts, LastSentenceSaysWhichModeIsBestInWhatAndWhy) {
  const std::vector<VariantRuns> variants = {
      Seeds("sequential", kTen, kRates), Seeds("async", {6, 6, 6, 6, 6}, kRates),
      Seeds("sync_main", {12, 13, 12, 13, 12}, {0.6, 0.62, 0.64, 0.66, 0.68})};
  EXPECT_EQ(Verdicts(Compare(variants), 5).back(),
            "in short: async is fastest, because it generates while it trains; sync_main is "
            "slower, because its main thread also evaluates for the searches; sync_main solves "
            "most after equal iterations, because its searches ask the newest network");
}

TEST(Verdicts, LastSentenceClaimsNoDifferenceThatChanceExplains) {
  const std::vector<VariantRuns> variants = {
      Seeds("sequential", kTen, kRates),
      Seeds("async", {9, 11, 9, 11, 10}, {0.6, 0.5, 0.56, 0.5, 0.6})};
  EXPECT_THAT(Verdicts(Compare(variants), 5).back(),
              StartsWith("in short: no difference in speed is shown; no difference in solve rates "
                         "after equal iterations is shown"));
  const std::vector<VariantRuns> one_seed = {Seeds("sequential", {10}, {0.5}),
                                             Seeds("async", {5}, {0.5})};
  EXPECT_THAT(
      Verdicts(Compare(one_seed), 1).back(),
      AllOf(StartsWith("in short: async is fastest, "), EndsWith("all of this may be chance")));
  EXPECT_TRUE(Verdicts(Compare(std::span(one_seed).first(1)), 1).empty());
}

TEST(Notes, ExplainEachMissingCellAndLossesThatCannotBeCompared) {
  std::vector<VariantRuns> variants = {Seeds("sequential", {10}, {0.5}),
                                       Seeds("async", {5}, {0.5})};
  EXPECT_THAT(Notes(Compare(variants), /*losses_compare=*/true),
              ElementsAre(StartsWith("`-` in `% GPU idle`: only traced updates"),
                          StartsWith("`-` in `ideal speed-up`, `ideal bound by`: only async")));
  EXPECT_THAT(Notes(Compare(variants), /*losses_compare=*/false),
              Contains(StartsWith("`final loss` cannot be compared: ")));
}

TEST(Verdicts, FiveSeedsThatDisagreeShowNoDifference) {
  const std::vector<VariantRuns> variants = {
      Seeds("sequential", kTen, kRates),
      Seeds("async", {9, 11, 9, 11, 10}, {0.6, 0.5, 0.56, 0.5, 0.6})};
  const std::string verdict = Verdicts(Compare(variants), 5).front();
  EXPECT_THAT(verdict,
              HasSubstr("no difference in speed shown (0.909 to 1.111 over 5 seeds; such"));
  EXPECT_THAT(verdict, HasSubstr("equal iterations no difference in solve rate shown (such"));
}

TEST(Verdicts, FewerThanFiveSeedsGiveNoVerdict) {
  const std::vector<VariantRuns> variants = {Seeds("sequential", kTen, {0.5, 0.6, 0.55}),
                                             Seeds("async", {5, 5, 5}, {0.7, 0.8, 0.75})};
  const std::string verdict = Verdicts(Compare(variants), 3).front();
  EXPECT_THAT(verdict, HasSubstr("2.000x as fast (2.000 to 2.000 over 3 seeds; such a difference "
                                 "arises by chance in 25.0 % of cases, the least possible with 3 "
                                 "seeds)"));
  EXPECT_THAT(verdict, HasSubstr("; no verdict, because it takes at least 5 seeds (--seeds); 6 "
                                 "seeds can show 3.1 %"));
}

TEST(Verdicts, OneSeedGivesOnlyTheFigures) {
  const std::vector<VariantRuns> variants = {Seeds("sequential", {10}, {0.5}),
                                             Seeds("async", {5}, {0.7})};
  const std::string verdict = Verdicts(Compare(variants), 1).front();
  EXPECT_THAT(verdict, HasSubstr("async against sequential: 2.000x as fast; after equal iterations "
                                 "it solves 70.0 % instead of 50.0 %"));
  EXPECT_THAT(verdict, HasSubstr("no verdict"));
}

TEST(Verdicts, EqualSolveRatesShowNoDifference) {
  const std::vector<VariantRuns> variants = {Seeds("sequential", {10, 10}, {0.5, 0.6}),
                                             Seeds("async", {5, 5}, {0.5, 0.6})};
  EXPECT_THAT(Verdicts(Compare(variants), 2).front(),
              HasSubstr("; after equal iterations no difference in solve rate;"));
}

}  // namespace
}  // namespace tandem
