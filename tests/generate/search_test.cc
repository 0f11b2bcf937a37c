// Tests of examples by search: greedy rollouts, beams and A* from scrambles.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "support/generator_config.h"
#include "support/generators.h"
#include "support/independent_evaluator.h"
#include "support/path_domain.h"
#include "support/ring_domain.h"
#include "support/roads_domain.h"
#include "support/small_puzzles.h"
#include "support/stand_in_evaluator.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

constexpr std::int64_t kSteps = 10;

using Bytes = std::vector<std::uint8_t>;

DataBuffer Filled(const Domain& domain, Evaluator& network, const Config& config,
                  FillRequest request) {
  ValueIterationGenerator generator(domain, network, config);
  DataBuffer rows(generator.schema(), static_cast<std::size_t>(request.rows));
  generator.Fill(request, rows, StopSignal());
  return rows;
}

Bytes AllBytes(const DataBuffer& rows) {
  Bytes all;
  for (std::size_t c = 0; c < rows.schema().columns.size(); ++c) {
    const auto column = rows.column(c).bytes();
    all.insert(all.end(), column.begin(), column.end());
  }
  return all;
}

Bytes RowBytes(const DataBuffer& rows, std::size_t row) {
  const auto state = rows.column(kInputColumn)[row];
  return {state.begin(), state.end()};
}

// RowBytes as a string, for sets: g++ 12 gives a false warning about comparing vectors.
std::string RowText(const DataBuffer& rows, std::size_t row) {
  const auto state = rows.column(kInputColumn)[row];
  return {state.begin(), state.end()};
}

StandInEvaluator RingTruth() {
  return StandInEvaluator(
      [](std::span<const std::uint8_t> state) { return float(RingDomain::Distance(state)); });
}

float GuessOf(std::span<const std::uint8_t> state) {
  float total = 0;
  for (std::size_t i = 0; i < state.size(); ++i) total += float(i % 7) * state[i];
  return total / 16;
}

// A deterministic function of the state that is not the exact cost-to-go.
StandInEvaluator Guess() { return StandInEvaluator(&GuessOf); }

class Searching : public testing::TestWithParam<GenerateSearch> {
 protected:
  static Config BaseConfig() {
    return GeneratorConfig({.search = GetParam(),
                            .search_iterations = kSteps,
                            .search_epsilon = 0.1,
                            .search_weight = 0.5,
                            .search_beam_width = 1,
                            .max_scramble = 12,
                            .workers = 2,
                            .chunk_rows = 16});
  }
};

TEST_P(Searching, ExactEstimatesAreAFixedPointOfBothHeads) {
  const RingDomain ring(30);
  StandInEvaluator truth = RingTruth();
  for (const Head head : {Head::kV, Head::kQ}) {
    Config config = BaseConfig();
    config.network.head = head;
    const DataBuffer rows = Filled(ring, truth, config, {.update = 0, .first_row = 0, .rows = 300});
    const std::size_t width = TargetWidth(ring.spec(), head);
    for (std::size_t i = 0; i < 300 * width; ++i) {
      Bytes state = RowBytes(rows, i / width);
      if (head == Head::kQ) {
        const auto action = static_cast<Action>(i % width);
        ring.Apply(Rows(std::span(state)), {&action, 1});
      }
      const int steps = head == Head::kQ ? 1 : 0;
      ASSERT_EQ(rows.floats(kTargetColumn)[i], steps + RingDomain::Distance(state));
    }
  }
}

TEST_P(Searching, LeavingOutKnownChildrenGivesTheSameRows) {
  const auto cube = MakeDomain("cube2");
  const FillRequest request{.update = 3, .first_row = 40, .rows = 333};
  for (const Backup backup : {Backup::kOneStep, Backup::kLhbl, Backup::kUbSoln}) {
    Config config = BaseConfig();
    config.generate.backup = backup;
    StandInEvaluator every = Guess();
    IndependentEvaluator needed(&GuessOf);
    const DataBuffer expected = Filled(*cube, every, config, request);
    EXPECT_EQ(AllBytes(Filled(*cube, needed, config, request)), AllBytes(expected));
    // Of the children of a row that is no scramble, one is the state before.
    const std::size_t children = 333 * static_cast<std::size_t>(cube->spec().num_actions());
    EXPECT_LT(needed.rows(), children - 333 / 2);
    EXPECT_GT(needed.rows(), children / 2);
  }
}

TEST_P(Searching, RowsDoNotDependOnWorkersChunksOrRanges) {
  const auto cube = MakeDomain("cube2");
  StandInEvaluator guess = Guess();
  const FillRequest request{.update = 3, .first_row = 40, .rows = 333};
  const DataBuffer whole = Filled(*cube, guess, BaseConfig(), request);
  for (const int workers : {1, 4}) {
    for (const std::int64_t chunk_rows : {1, 7, 1000}) {
      Config config = BaseConfig();
      config.generate.workers = workers;
      config.generate.chunk_rows = chunk_rows;
      EXPECT_EQ(AllBytes(Filled(*cube, guess, config, request)), AllBytes(whole));
    }
  }
  const DataBuffer part =
      Filled(*cube, guess, BaseConfig(), {.update = 3, .first_row = 153, .rows = 48});
  for (std::size_t i = 0; i < 48; ++i) {
    EXPECT_EQ(RowBytes(part, i), RowBytes(whole, 113 + i));
    EXPECT_EQ(part.floats(kTargetColumn)[i], whole.floats(kTargetColumn)[113 + i]);
  }
  Config other = BaseConfig();
  other.seed = 2;
  EXPECT_NE(AllBytes(Filled(*cube, guess, other, request)), AllBytes(whole));
}

// The scramble of a row depends only on the row, with or without a search.
TEST_P(Searching, FirstStepIsTheScramble) {
  const auto cube = MakeDomain("cube2");
  StandInEvaluator guess = Guess();
  const FillRequest request{.update = 1, .first_row = 5, .rows = 100};
  Config one = BaseConfig();
  one.generate.search_iterations = 1;
  Config none = one;
  none.generate.search = GenerateSearch::kNone;
  EXPECT_EQ(AllBytes(Filled(*cube, guess, one, request)),
            AllBytes(Filled(*cube, guess, none, request)));
}

TEST_P(Searching, ExactEstimatesDescendToTheGoalAndRestart) {
  const RingDomain ring(60);
  StandInEvaluator truth = RingTruth();
  Config config = BaseConfig();
  config.generate.max_scramble = 25;
  config.generate.search_epsilon = 0;
  config.generate.search_iterations = 20;
  const DataBuffer rows = Filled(ring, truth, config, {.update = 0, .first_row = 0, .rows = 400});
  int starts = 0;
  for (std::size_t i = 1; i < 400; ++i) {
    const int before = RingDomain::Distance(rows.column(kInputColumn)[i - 1]);
    const int now = RingDomain::Distance(rows.column(kInputColumn)[i]);
    if (before > 1 && i % 20 != 0) {
      ASSERT_EQ(now, before - 1);  // a step of the search
    } else {
      ++starts;  // after a goal or a neighbour of a goal, or in the next instance
    }
  }
  EXPECT_GT(starts, 30);
}

// No row is spent on stepping into a known goal.
TEST_P(Searching, RowAfterANeighbourOfAGoalIsANewScramble) {
  const RingDomain ring(60);
  StandInEvaluator truth = RingTruth();
  const FillRequest request{.update = 0, .first_row = 0, .rows = 300};
  Config none = BaseConfig();
  none.generate.search = GenerateSearch::kNone;
  none.generate.search_iterations = 1;
  const DataBuffer scrambles = Filled(ring, truth, none, request);
  const DataBuffer rows = Filled(ring, truth, BaseConfig(), request);
  int beside = 0;
  for (std::size_t i = 1; i < 300; ++i) {
    if (RingDomain::Distance(rows.column(kInputColumn)[i - 1]) > 1) continue;
    EXPECT_EQ(RowBytes(rows, i), RowBytes(scrambles, i)) << i;
    ++beside;
  }
  EXPECT_GT(beside, 20);
}

TEST_P(Searching, BoundsLieBetweenDistanceAndPathCost) {
  const PancakeDomain pancakes(6, /*action_cost=*/2);
  const StateMap distances = Distances(pancakes);
  StandInEvaluator guess = Guess();
  Config config = BaseConfig();
  config.generate.target = Target::kCappedValueIteration;
  config.pipeline.mode = Mode::kSyncMain;  // the rows stay unlabelled
  const DataBuffer rows =
      Filled(pancakes, guess, config, {.update = 0, .first_row = 0, .rows = 500});
  for (std::size_t i = 0; i < 500; ++i) {
    const float bound = rows.floats(kBoundColumn)[i];
    EXPECT_GE(bound, 2.0F * float(distances.at(RowBytes(rows, i))));
    EXPECT_LE(bound, 2.0F * float(12 + i % kSteps));  // the longest scramble and all steps since
  }
}

TEST_P(Searching, BoundsCapOverestimates) {
  const RingDomain ring(100);
  StandInEvaluator pessimist([](std::span<const std::uint8_t>) { return 500.0F; });
  Config config = BaseConfig();
  config.generate.target = Target::kCappedValueIteration;
  const DataBuffer rows =
      Filled(ring, pessimist, config, {.update = 0, .first_row = 0, .rows = 300});
  for (std::size_t i = 0; i < 300; ++i) {
    const float target = rows.floats(kTargetColumn)[i];
    EXPECT_GE(target, RingDomain::Distance(rows.column(kInputColumn)[i]));
    EXPECT_LE(target, 12 + i % kSteps);
  }
}

TEST_P(Searching, EachStepIsOneEvaluation) {
  const RingDomain ring(100);
  class Counter final : public Evaluator {
   public:
    void Evaluate(ConstRows inputs, std::span<float> values) override {
      sizes.push_back(inputs.size());
      std::ranges::fill(values, 0.0F);
    }
    std::vector<std::size_t> sizes;
  } counter;
  Filled(ring, counter, BaseConfig(), {.update = 0, .first_row = 0, .rows = 24 * kSteps});
  // The 24 instances are two chunks of 12. Each state has two children.
  EXPECT_EQ(counter.sizes, std::vector<std::size_t>(2 * kSteps, 24));
}

TEST_P(Searching, StopsBetweenSteps) {
  const RingDomain ring(100);
  StopSignal stop;
  std::atomic<int> asked = 0;
  StandInEvaluator asks_to_stop([&](std::span<const std::uint8_t>) {
    if (++asked == 100) stop.Request();
    return 0.0F;
  });
  ValueIterationGenerator generator(ring, asks_to_stop, BaseConfig());
  DataBuffer rows(generator.schema(), 1000);
  EXPECT_THROW(generator.Fill({.update = 0, .first_row = 0, .rows = 1000}, rows, stop), Stopped);
  EXPECT_LT(asked, 200);
}

INSTANTIATE_TEST_SUITE_P(By, Searching,
                         testing::Values(GenerateSearch::kGreedy, GenerateSearch::kBeam,
                                         GenerateSearch::kAStar),
                         [](const auto& test) {
                           return std::string(NameOf(kGenerateSearches, test.param));
                         });

// The number of distinct states that the searches of an update visit.
std::size_t DifferentStates(const Domain& domain, Evaluator& network, const Config& config,
                            std::int64_t rows) {
  const DataBuffer filled =
      Filled(domain, network, config, {.update = 0, .first_row = 0, .rows = rows});
  std::set<std::string> seen;
  for (std::int64_t i = 0; i < rows; ++i) seen.insert(RowText(filled, std::size_t(i)));
  return seen.size();
}

// With constant estimates, a rollout without random actions always takes the first possible action.
TEST(Greedy, RandomActionsAndHighTemperatureBreakCycles) {
  const auto cube = MakeDomain("cube2");
  StandInEvaluator knows_nothing([](std::span<const std::uint8_t>) { return 1.0F; });
  const auto different_states = [&](double epsilon, double temperature) {
    return DifferentStates(*cube, knows_nothing,
                           GeneratorConfig({.search = GenerateSearch::kGreedy,
                                            .search_iterations = 100,
                                            .search_epsilon = epsilon,
                                            .temperature = temperature,
                                            .max_scramble = 12}),
                           2000);
  };
  const std::size_t in_circles = different_states(0, 0);
  EXPECT_GT(different_states(0.2, 0), 4 * in_circles);
  EXPECT_GT(different_states(0, 10), 4 * in_circles);
}

TEST(Greedy, TurnsBackOnlyInADeadEnd) {
  const PathDomain path(8);
  // The wrong estimates draw every rollout to the far end, where it can only turn back.
  StandInEvaluator wrong([](std::span<const std::uint8_t> state) { return 10.0F - state[0]; });
  const Config config = GeneratorConfig({.search = GenerateSearch::kGreedy,
                                         .search_iterations = 8,
                                         .search_epsilon = 0,
                                         .max_scramble = 4});
  const DataBuffer rows = Filled(path, wrong, config, {.update = 0, .first_row = 0, .rows = 400});
  std::set<int> seen;
  for (std::size_t i = 1; i < 400; ++i) {
    const int before = rows.column(kInputColumn)[i - 1][0], now = rows.column(kInputColumn)[i][0];
    seen.insert(now);
    if (i % 8 == 0 || before <= 1) continue;  // another search
    EXPECT_EQ(std::abs(now - before), 1);
    if (i % 8 >= 2 && before < 7) {
      const int earlier = rows.column(kInputColumn)[i - 2][0];
      if (earlier > 1) {
        EXPECT_NE(now, earlier);
      }
    }
  }
  EXPECT_TRUE(seen.contains(7));
}

// From city 1, three roads lead to other cities, at costs 1, 2 and 1.
TEST(Greedy, TemperatureGivesTheProbabilitiesOfASoftmax) {
  const RoadsDomain map({{0, 0, 0}, {2, 3, 4}, {0, 2, 2}, {0, 3, 3}, {0, 4, 4}}, {1, 2, 1});
  constexpr std::array<float, 5> kEstimates = {0, 9, 1, 0.5F, 2};
  StandInEvaluator network([&](std::span<const std::uint8_t> city) { return kEstimates[city[0]]; });
  constexpr std::int64_t kRows = 30'000;
  const DataBuffer rows = Filled(map, network,
                                 GeneratorConfig({.search = GenerateSearch::kGreedy,
                                                  .search_iterations = 2,
                                                  .search_epsilon = 0,
                                                  .temperature = 0.7,
                                                  .max_scramble = 2}),
                                 {.update = 0, .first_row = 0, .rows = kRows});
  std::array<double, 5> taken{};
  double all = 0;
  for (std::size_t i = 0; i < kRows; i += 2) {
    if (rows.column(kInputColumn)[i][0] != 1) continue;
    ++taken[rows.column(kInputColumn)[i + 1][0]];
    ++all;
  }
  EXPECT_GT(all, 4000);
  const std::array<double, 3> weights = {std::exp(-(1 + 1) / 0.7), std::exp(-(2 + 0.5) / 0.7),
                                         std::exp(-(1 + 2) / 0.7)};
  const double sum = weights[0] + weights[1] + weights[2];
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(taken[2 + i] / all, weights[i] / sum, 0.03);
}

// The expected states are computed here, by sorting the children of each step.
TEST(BeamExamples, ExpandTheBestNewChildrenOfEachStep) {
  const PancakeDomain pancakes(7);
  const StateMap distances = Distances(pancakes);
  StandInEvaluator guess = Guess();
  constexpr std::size_t kWidth = 4;
  constexpr std::size_t kBeamSteps = 6;
  const DataBuffer rows = Filled(pancakes, guess,
                                 GeneratorConfig({.search = GenerateSearch::kBeam,
                                                  .search_iterations = kBeamSteps,
                                                  .search_beam_width = kWidth,
                                                  .max_scramble = 20}),
                                 {.update = 0, .first_row = 0, .rows = 480});
  const auto estimate = [&](const State& state) {
    float value = 0;
    guess.Evaluate(ConstRows(std::span(state)), {&value, 1});
    return value;
  };
  std::vector<State> beam;
  std::set<std::string> expanded;
  int steps = 0;
  for (std::size_t step = 0; step < 480 / kWidth; ++step) {
    std::multimap<float, State> children;
    bool begins = step % kBeamSteps == 0;
    for (const State& state : beam) {
      begins = begins || distances.at(state) <= 1;
      for (int a = 0; a < pancakes.spec().num_actions(); ++a) {
        const State child = After(pancakes, state, {static_cast<Action>(a)});
        if (!expanded.contains({child.begin(), child.end()})) {
          children.emplace(estimate(child), child);
        }
      }
    }
    beam.clear();
    if (begins) {
      expanded = {RowText(rows, step * kWidth)};
      beam = {RowBytes(rows, step * kWidth)};
      continue;
    }
    std::multiset<float> expected;
    std::set<std::string> chosen;
    for (const auto& [value, child] : children) {
      if (expected.size() == kWidth) break;
      if (chosen.insert({child.begin(), child.end()}).second) expected.insert(value);
    }
    std::multiset<float> found;
    for (std::size_t row = step * kWidth; row < (step + 1) * kWidth; ++row) {
      beam.push_back(RowBytes(rows, row));
      found.insert(estimate(beam.back()));
      EXPECT_TRUE(expanded.insert(RowText(rows, row)).second) << row;
    }
    EXPECT_EQ(found, expected) << step;
    ++steps;
  }
  EXPECT_GT(steps, 40);
}

// From city 1, three roads lead to city 2 and one leads to city 3.
TEST(BeamExamples, NumberOfWaysToAStateDoesNotChangeItsProbability) {
  const RoadsDomain map({{0, 0, 0, 0}, {2, 2, 2, 3}, {0, 2, 2, 2}, {0, 3, 3, 3}}, {1, 1, 1, 1});
  constexpr std::array<float, 4> kEstimates = {0, 9, 1, 1.5F};
  StandInEvaluator network([&](std::span<const std::uint8_t> city) { return kEstimates[city[0]]; });
  constexpr std::int64_t kRows = 30'000;
  const DataBuffer rows = Filled(map, network,
                                 GeneratorConfig({.search = GenerateSearch::kBeam,
                                                  .search_iterations = 2,
                                                  .temperature = 0.7,
                                                  .search_beam_width = 1,
                                                  .max_scramble = 2}),
                                 {.update = 0, .first_row = 0, .rows = kRows});
  std::array<double, 4> taken{};
  for (std::size_t i = 0; i < kRows; i += 2) {
    if (rows.column(kInputColumn)[i][0] == 1) ++taken[rows.column(kInputColumn)[i + 1][0]];
  }
  EXPECT_GT(taken[2] + taken[3], 4000);
  EXPECT_NEAR(taken[3] / (taken[2] + taken[3]), 1 / (1 + std::exp(0.5 / 0.7)), 0.03);
}

TEST(BeamExamples, LabelsAreTheBackupsOfTheSameEstimates) {
  const RingDomain ring(60);
  StandInEvaluator truth = RingTruth();
  const Config config = GeneratorConfig({.search = GenerateSearch::kBeam,
                                         .search_iterations = 5,
                                         .search_beam_width = 8,
                                         .max_scramble = 20,
                                         .workers = 2,
                                         .chunk_rows = 16});
  const DataBuffer rows = Filled(ring, truth, config, {.update = 0, .first_row = 0, .rows = 400});
  for (std::size_t i = 0; i < 400; ++i) {
    EXPECT_EQ(rows.floats(kTargetColumn)[i], RingDomain::Distance(rows.column(kInputColumn)[i]));
  }
}

TEST(AStarExamples, ExpandsNoStateTwice) {
  const auto cube = MakeDomain("cube2");
  StandInEvaluator knows_nothing([](std::span<const std::uint8_t>) { return 1.0F; });
  const Config config = GeneratorConfig({.search = GenerateSearch::kAStar,
                                         .search_iterations = 40,
                                         .search_weight = 1,
                                         .max_scramble = 14});
  const DataBuffer rows =
      Filled(*cube, knows_nothing, config, {.update = 0, .first_row = 0, .rows = 400});
  for (std::size_t instance = 0; instance < 10; ++instance) {
    std::set<std::string> seen;
    for (std::size_t step = 0; step < 40; ++step) {
      const std::size_t row = instance * 40 + step;
      if (rows.floats(kTargetColumn)[row] <= 1) {
        seen.clear();  // a neighbour of the goal: the next row starts a new search
      } else {
        EXPECT_TRUE(seen.insert(RowText(rows, row)).second);
      }
    }
  }
}

}  // namespace
}  // namespace tandem
