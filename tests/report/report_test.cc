// Tests that each measure appears in the rows, in the table and in JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "report/comparison.h"

namespace tandem {
namespace {

// Returns a run whose numbers all differ. Where possible, seed 2 has twice the numbers of seed 1.
RunRecord RunOfSeed(int seed) {
  return {
      .updates = 10,
      .examples = 8000,
      .final_loss = 0.125 * seed,
      .lag_updates = 0.75 * seed,
      .weights_sha256 = "abc",
      .seconds = 10.0 * seed,
      .generate_critical_s = 6.5 * seed,
      .train_critical_s = 4.5 * seed,
      .core_s = 14.0 * seed,
      .gpu_s = 7.0 * seed,
      .cores = 4,
      .idle_workers = 0.25 * seed,
      .idle_main = 0.375 * seed,
      .curve = {{.iterations = 50, .seconds = 5.0 * seed, .loss = 3, .solve_rate = 0.125 * seed},
                {.iterations = 100, .seconds = 11.0 * seed, .loss = 2, .solve_rate = 0.5}},
      .fills = {},
      .trainings = {}};
}

// A sequential variant and one that is twice as fast.
std::vector<Row> Rows() {
  std::vector<RunRecord> runs = {RunOfSeed(1), RunOfSeed(2)};
  std::vector<VariantRuns> variants(2);
  variants[0] = {.variant = {.name = "sequential", .mode = "sequential", .varied = {}},
                 .runs = runs};
  for (RunRecord& run : runs) {
    run.seconds /= 2;
    for (UpdatePoint& point : run.curve) point.seconds /= 2;
    run.weights_sha256 = "other";
  }
  variants[1] = {.variant = {.name = "async", .mode = "async", .varied = {}}, .runs = runs};
  return Compare(variants);
}

// Returns the cells of a line of the table.
std::string LineOf(const std::string& name) {
  std::istringstream lines(TableText(Rows()));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name + " ")) continue;
    std::string cells;
    std::istringstream words(line.substr(name.size()));
    for (std::string word; words >> word;) cells += (cells.empty() ? "" : " ") + word;
    return cells;
  }
  return "there is no such line";
}

TEST(Report, EveryLineOfTheTableShowsItsOwnMeasure) {
  EXPECT_EQ(LineOf("updates/s"), "0.750 (0.500 to 1.000) 1.500 (1.000 to 2.000)");
  EXPECT_EQ(LineOf("examples/s"), "600 (400 to 800) 1200 (800 to 1600)");
  EXPECT_EQ(LineOf("s generating (critical path)"), "9.75 (6.50 to 13.00) 9.75 (6.50 to 13.00)");
  EXPECT_EQ(LineOf("s training (critical path)"), "6.75 (4.50 to 9.00) 6.75 (4.50 to 9.00)");
  EXPECT_EQ(LineOf("% workers idle"), "37.5 (25.0 to 50.0) 37.5 (25.0 to 50.0)");
  EXPECT_EQ(LineOf("% main thread idle"), "56.2 (37.5 to 75.0) 56.2 (37.5 to 75.0)");
  EXPECT_EQ(LineOf("% GPU idle"), "30.0 -40.0");
  EXPECT_EQ(LineOf("lag, updates"), "1.12 (0.75 to 1.50) 1.12 (0.75 to 1.50)");
  EXPECT_EQ(LineOf("final loss"), "0.1875 (0.1250 to 0.2500) 0.1875 (0.1250 to 0.2500)");
  EXPECT_EQ(LineOf("% solved, equal iterations"), "50.0 50.0");
  EXPECT_EQ(LineOf("% solved, equal seconds"), "21.4 (15.6 to 27.1) 50.0");
  EXPECT_EQ(LineOf("speed-up"), "1.000 2.000");
  EXPECT_EQ(LineOf("ideal speed-up"), "- 1.429");
  EXPECT_EQ(LineOf("ideal bound by"), "- GPU");
  EXPECT_EQ(LineOf("% busiest side at work"), "70.0 100.0");
  EXPECT_EQ(LineOf("busiest side"), "GPU GPU");
  EXPECT_EQ(LineOf("weights as the first's"), "equal differ");
}

TEST(Report, JsonHasTheFiguresOfTheTable) {
  const nlohmann::ordered_json rows = ToJson(Rows());
  ASSERT_EQ(rows.size(), 2U);
  const auto of = [](double median, double least, double most) {
    return nlohmann::ordered_json{{"median", median}, {"least", least}, {"most", most}};
  };
  const nlohmann::ordered_json& first = rows[0];
  EXPECT_EQ(first["name"], "sequential");
  EXPECT_EQ(first["updates_per_s"], of(0.75, 0.5, 1));
  EXPECT_EQ(first["examples_per_s"], of(600, 400, 800));
  EXPECT_EQ(first["generate_critical_s"], of(9.75, 6.5, 13));
  EXPECT_EQ(first["train_critical_s"], of(6.75, 4.5, 9));
  EXPECT_EQ(first["idle_workers"], of(0.375, 0.25, 0.5));
  EXPECT_EQ(first["idle_main"], of(0.5625, 0.375, 0.75));
  EXPECT_EQ(first["lag_updates"], of(1.125, 0.75, 1.5));
  EXPECT_EQ(first["final_loss"], of(0.1875, 0.125, 0.25));
  EXPECT_EQ(first["solve_rate_equal_iterations"], of(0.5, 0.5, 0.5));
  EXPECT_EQ(rows[1]["solve_rate_equal_seconds"], of(0.5, 0.5, 0.5));
  EXPECT_EQ(rows[1]["busy_share"], of(1, 1, 1));
  EXPECT_EQ(rows[1]["busiest_side"], "GPU");
  EXPECT_TRUE(first["speed_up_chance"].is_null());
  EXPECT_EQ(rows[1]["speed_up_chance"], 0.5);
  EXPECT_EQ(rows[1]["solve_rate_equal_iterations_chance"], 1.0);
  EXPECT_EQ(rows[1]["solve_rate_equal_seconds_chance"], 0.5);
  EXPECT_EQ(rows[1]["speed_up"], of(2, 2, 2));
  EXPECT_EQ(rows[1]["mode"], "async");
  EXPECT_EQ(rows[1]["ideal_bound_by"], "GPU");
  EXPECT_EQ(rows[1]["weights_equal_first"], false);
  EXPECT_TRUE(first["ideal_speed_up"].is_null());
  EXPECT_NEAR(first["idle_gpu"]["median"].get<double>(), 0.3, 1e-12);
}

// For each seed, solve rates are taken at the end of its fastest run.
TEST(Report, EqualSecondsAreTakenSeedBySeed) {
  const RunRecord quick = RunOfSeed(1), slow = RunOfSeed(2);
  const std::vector<VariantRuns> variants = {
      {.variant = {.name = "a", .mode = "async", .varied = {}}, .runs = {quick, slow}},
      {.variant = {.name = "b", .mode = "async", .varied = {}}, .runs = {quick, slow}}};
  for (const Row& row : Compare(variants)) {
    EXPECT_EQ(row.solve_rate_equal_time.spread->least, 0.5);  // both seeds, each at its own end
  }
}

TEST(Report, IdealUsesTheSequentialRunsWithTheSameValues) {
  const auto variant = [](const std::string& mode, const std::string& depth, RunRecord run) {
    return VariantRuns{
        .variant = {.name = mode + depth, .mode = mode, .varied = {{"prefetch.depth", depth}}},
        .runs = {std::move(run)}};
  };
  const std::vector<VariantRuns> variants = {
      variant("sequential", "1", RunOfSeed(1)), variant("async", "1", RunOfSeed(1)),
      variant("sequential", "2", RunOfSeed(2)), variant("async", "2", RunOfSeed(1)),
      variant("async", "3", RunOfSeed(1))};
  const nlohmann::ordered_json rows = ToJson(Compare(variants));
  EXPECT_EQ(rows[1]["ideal_speed_up"]["median"], 10.0 / 7);  // 7 s on the GPU of 10 s
  EXPECT_EQ(rows[3]["ideal_speed_up"]["median"], 10.0 / 7);
  EXPECT_TRUE(rows[4]["ideal_speed_up"].is_null());
}

}  // namespace
}  // namespace tandem
