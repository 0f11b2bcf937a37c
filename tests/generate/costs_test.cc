// Tests of labels with unequal action costs, and of searches in dead ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "support/generator_config.h"
#include "support/generators.h"
#include "support/ring_domain.h"
#include "support/roads_domain.h"
#include "support/stand_in_evaluator.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

constexpr std::size_t kRows = 300;
constexpr int kCells = 100;

// A ring where a step to the left costs 1 and a step to the right costs 4.
class UnequalRing : public testing::Test {
 protected:
  DataBuffer Filled(Generator& generator) {
    DataBuffer rows(generator.schema(), kRows);
    generator.Fill({.update = 0, .first_row = 0, .rows = kRows}, rows, StopSignal());
    return rows;
  }

  // The cost of the shortest way back to cell 0.
  static float CostToGo(std::span<const std::uint8_t> state) {
    const auto at = static_cast<int>(std::ranges::find(state, 1) - state.begin());
    return static_cast<float>(at <= kCells / 2 ? at : 4 * (kCells - at));
  }

  const RingDomain ring_{kCells, {1, 4}};
};

TEST_F(UnequalRing, WalkLengthLabelIsTheCostOfTheWayBack) {
  WalkGenerator generator(ring_,
                          GeneratorConfig({.max_scramble = 10, .workers = 2, .chunk_rows = 64}));
  const DataBuffer rows = Filled(generator);
  for (std::size_t i = 0; i < kRows; ++i) {
    EXPECT_EQ(rows.floats(kTargetColumn)[i], CostToGo(rows.column(kInputColumn)[i]));
  }
}

TEST_F(UnequalRing, QNetLabelsIncludeActionCosts) {
  WalkGenerator generator(
      ring_, GeneratorConfig({.max_scramble = 10, .workers = 2, .chunk_rows = 64}, Head::kQ));
  const DataBuffer rows = Filled(generator);
  for (std::size_t i = 0; i < kRows; ++i) {
    for (Action action = 0; action < 2; ++action) {
      const auto state = rows.column(kInputColumn)[i];
      std::vector<std::uint8_t> child(state.begin(), state.end());
      ring_.Apply(Rows(std::span(child)), {&action, 1});
      EXPECT_EQ(rows.floats(kTargetColumn)[2 * i + action],
                ring_.spec().action_costs[action] + CostToGo(child));
    }
  }
}

TEST_F(UnequalRing, SearchBoundsAreTheCostOfTheWayBack) {
  StandInEvaluator away([](std::span<const std::uint8_t> state) {
    return 900.0F - 10 * static_cast<float>(RingDomain::Distance(state));
  });
  for (const GenerateSearch search : {GenerateSearch::kGreedy, GenerateSearch::kAStar}) {
    Config config = GeneratorConfig({.target = Target::kCappedValueIteration,
                                     .search = search,
                                     .search_iterations = 10,
                                     .search_epsilon = 0,
                                     .search_weight = 0,
                                     .max_scramble = 8,
                                     .workers = 2,
                                     .chunk_rows = 16});
    config.pipeline.mode = Mode::kSyncMain;  // the rows stay unlabelled
    ValueIterationGenerator generator(ring_, away, config);
    const DataBuffer rows = Filled(generator);
    for (std::size_t i = 0; i < kRows; ++i) {
      EXPECT_EQ(rows.floats(kBoundColumn)[i], CostToGo(rows.column(kStateColumn)[i]));
    }
  }
}

TEST_F(UnequalRing, QNetCapIsBoundPlusActionPlusUndoCost) {
  StandInEvaluator pessimist([](std::span<const std::uint8_t>) { return 900.0F; });
  ValueIterationGenerator generator(ring_, pessimist,
                                    GeneratorConfig({.target = Target::kCappedValueIteration,
                                                     .max_scramble = 8,
                                                     .workers = 2,
                                                     .chunk_rows = 16},
                                                    Head::kQ));
  const DataBuffer rows = Filled(generator);
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto state = rows.column(kInputColumn)[i];
    for (std::size_t action = 0; action < 2; ++action) {
      const float label = rows.floats(kTargetColumn)[2 * i + action];
      if (label == ring_.spec().action_costs[action]) continue;  // the action leads to the goal
      EXPECT_EQ(label, CostToGo(state) + 1 + 4);
    }
  }
}

TEST(Rollouts, IncludeActionCosts) {
  // The road from city 1 to city 2 costs 1, the one to city 3 costs 4. The estimate of city 3 is
  // lower, but not by enough.
  const RoadsDomain map({{0, 0}, {2, 3}, {0, 2}, {0, 3}, {1, 4}, {4, 5}}, {1, 4});
  StandInEvaluator network([](std::span<const std::uint8_t> city) {
    constexpr std::array<float, 6> kEstimates = {0, 9, 7, 5, 9, 9};
    return kEstimates[city[0]];
  });
  ValueIterationGenerator generator(map, network,
                                    GeneratorConfig({.search = GenerateSearch::kGreedy,
                                                     .search_iterations = 3,
                                                     .search_epsilon = 0,
                                                     .max_scramble = 4,
                                                     .chunk_rows = 16}));
  DataBuffer rows(ExampleSchema(map.spec()), kRows);
  generator.Fill({.update = 0, .first_row = 0, .rows = kRows}, rows, StopSignal());
  int steps = 0;
  for (std::size_t i = 1; i < kRows; ++i) {
    if (i % 3 == 0 || rows.column(kInputColumn)[i - 1][0] != 1) continue;
    EXPECT_EQ(rows.column(kInputColumn)[i][0], 2);
    ++steps;
  }
  EXPECT_GT(steps, 10);
}

TEST(Rollouts, RestartWhereNoActionApplies) {
  // City 2 leads to city 3, which has no way out.
  const RoadsDomain map({{0, 0}, {0, 1}, {1, 3}, {3, 3}}, {1, 1});
  StandInEvaluator wrong([](std::span<const std::uint8_t> city) { return 9.0F - city[0]; });
  ValueIterationGenerator generator(map, wrong,
                                    GeneratorConfig({.search = GenerateSearch::kGreedy,
                                                     .search_iterations = 10,
                                                     .search_epsilon = 0,
                                                     .max_scramble = 2,
                                                     .chunk_rows = 16}));
  DataBuffer rows(ExampleSchema(map.spec()), kRows);
  generator.Fill({.update = 0, .first_row = 0, .rows = kRows}, rows, StopSignal());
  int dead_ends = 0;
  for (std::size_t i = 1; i < kRows; ++i) {
    const int before = rows.column(kInputColumn)[i - 1][0], now = rows.column(kInputColumn)[i][0];
    dead_ends += now == 3 ? 1 : 0;
    EXPECT_FALSE(before == 3 && now == 3) << i;
  }
  EXPECT_GT(dead_ends, 10);
}

// Each walk of an update has its own random stream.
TEST(Walks, OfOneUpdateAreAllDifferent) {
  const auto cube = MakeDomain("cube3");
  WalkGenerator generator(*cube,
                          GeneratorConfig({.max_scramble = 20, .workers = 2, .chunk_rows = 64}));
  DataBuffer rows(ExampleSchema(cube->spec()), kRows);
  generator.Fill({.update = 0, .first_row = 0, .rows = kRows}, rows, StopSignal());
  std::set<std::string> ends;
  for (std::size_t i = 19; i < kRows; i += 20) {
    const auto state = rows.column(kInputColumn)[i];
    EXPECT_TRUE(ends.emplace(state.begin(), state.end()).second) << i;
  }
}

TEST(Scrambles, OfDifferentUpdatesAreDifferent) {
  const auto cube = MakeDomain("cube3");
  StandInEvaluator zero([](std::span<const std::uint8_t>) { return 0.0F; });
  ValueIterationGenerator generator(*cube, zero, GeneratorConfig({.max_scramble = 20}));
  std::set<std::string> seen;
  for (const std::int64_t update : {0, 1, 2}) {
    DataBuffer rows(ExampleSchema(cube->spec()), kRows);
    generator.Fill({.update = update, .first_row = 0, .rows = kRows}, rows, StopSignal());
    const auto inputs = rows.column(kInputColumn).bytes();
    EXPECT_TRUE(seen.emplace(inputs.begin(), inputs.end()).second) << update;
  }
}

}  // namespace
}  // namespace tandem
