// Tests of examples by search: greedy rollouts and A* from scrambles.
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>

#include "generate/value_iteration.h"
#include "support/path_domain.h"
#include "support/ring_domain.h"
#include "support/small_puzzles.h"
#include "support/stand_in_evaluator.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

constexpr std::int64_t kSteps = 10;

using Bytes = std::vector<std::uint8_t>;

DataBuffer Filled(const Domain& domain, Evaluator& network, const ValueIterationOptions& options,
                  FillRequest request) {
  const Schema schema =
      options.labelled ? ExampleSchema(domain.spec(), options.head) : StateSchema(domain.spec());
  DataBuffer rows(schema, static_cast<std::size_t>(request.rows));
  ValueIterationGenerator(domain, network, options).Fill(request, rows, StopSignal());
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

// A deterministic function of the state that is not the exact cost-to-go.
StandInEvaluator Guess() {
  return StandInEvaluator([](std::span<const std::uint8_t> state) {
    float total = 0;
    for (std::size_t i = 0; i < state.size(); ++i) total += float(i % 7) * state[i];
    return total / 16;
  });
}

class Searching : public testing::TestWithParam<GenerateSearch> {
 protected:
  ValueIterationOptions Options() const {
    return {.seed = 1,
            .max_scramble = 12,
            .chunk_rows = 16,
            .workers = 2,
            .search = {.method = GetParam(), .epsilon = 0.1, .weight = 0.5F},
            .search_iterations = kSteps};
  }
};

TEST_P(Searching, ExactEstimatesAreAFixedPointOfBothHeads) {
  const RingDomain ring(30);
  StandInEvaluator truth = RingTruth();
  for (const Head head : {Head::kV, Head::kQ}) {
    ValueIterationOptions options = Options();
    options.head = head;
    const DataBuffer rows =
        Filled(ring, truth, options, {.update = 0, .first_row = 0, .rows = 300});
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

TEST_P(Searching, RowsDoNotDependOnWorkersChunksOrRanges) {
  const auto cube = MakeDomain("cube2");
  StandInEvaluator guess = Guess();
  const FillRequest request{.update = 3, .first_row = 40, .rows = 333};
  const DataBuffer whole = Filled(*cube, guess, Options(), request);
  for (const int workers : {1, 4}) {
    for (const std::int64_t chunk_rows : {1, 7, 1000}) {
      ValueIterationOptions options = Options();
      options.workers = workers;
      options.chunk_rows = chunk_rows;
      EXPECT_EQ(AllBytes(Filled(*cube, guess, options, request)), AllBytes(whole));
    }
  }
  const DataBuffer part =
      Filled(*cube, guess, Options(), {.update = 3, .first_row = 153, .rows = 48});
  for (std::size_t i = 0; i < 48; ++i) {
    EXPECT_EQ(RowBytes(part, i), RowBytes(whole, 113 + i));
    EXPECT_EQ(part.floats(kTargetColumn)[i], whole.floats(kTargetColumn)[113 + i]);
  }
  ValueIterationOptions other = Options();
  other.seed = 2;
  EXPECT_NE(AllBytes(Filled(*cube, guess, other, request)), AllBytes(whole));
}

// The scramble of a row depends only on the row, with or without a search.
TEST_P(Searching, FirstStepIsTheScramble) {
  const auto cube = MakeDomain("cube2");
  StandInEvaluator guess = Guess();
  const FillRequest request{.update = 1, .first_row = 5, .rows = 100};
  ValueIterationOptions one = Options();
  one.search_iterations = 1;
  ValueIterationOptions none = one;
  none.search.method = GenerateSearch::kNone;
  EXPECT_EQ(AllBytes(Filled(*cube, guess, one, request)),
            AllBytes(Filled(*cube, guess, none, request)));
}

TEST_P(Searching, ExactEstimatesDescendToTheGoalAndRestart) {
  const RingDomain ring(60);
  StandInEvaluator truth = RingTruth();
  ValueIterationOptions options = Options();
  options.max_scramble = 25;
  options.search.epsilon = 0;
  options.search_iterations = 20;
  const DataBuffer rows = Filled(ring, truth, options, {.update = 0, .first_row = 0, .rows = 400});
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
  ValueIterationOptions none = Options();
  none.search.method = GenerateSearch::kNone;
  none.search_iterations = 1;
  const DataBuffer scrambles = Filled(ring, truth, none, request);
  const DataBuffer rows = Filled(ring, truth, Options(), request);
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
  ValueIterationOptions options = Options();
  options.labelled = false;
  const DataBuffer rows =
      Filled(pancakes, guess, options, {.update = 0, .first_row = 0, .rows = 500});
  for (std::size_t i = 0; i < 500; ++i) {
    const float bound = rows.floats(kBoundColumn)[i];
    EXPECT_GE(bound, 2.0F * float(distances.at(RowBytes(rows, i))));
    EXPECT_LE(bound, 2.0F * float(12 + i % kSteps));  // the longest scramble and all steps since
  }
}

TEST_P(Searching, BoundsCapOverestimates) {
  const RingDomain ring(100);
  StandInEvaluator pessimist([](std::span<const std::uint8_t>) { return 500.0F; });
  ValueIterationOptions options = Options();
  options.capped = true;
  const DataBuffer rows =
      Filled(ring, pessimist, options, {.update = 0, .first_row = 0, .rows = 300});
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
  Filled(ring, counter, Options(), {.update = 0, .first_row = 0, .rows = 24 * kSteps});
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
  ValueIterationGenerator generator(ring, asks_to_stop, Options());
  DataBuffer rows(ExampleSchema(ring.spec()), 1000);
  EXPECT_THROW(generator.Fill({.update = 0, .first_row = 0, .rows = 1000}, rows, stop), Stopped);
  EXPECT_LT(asked, 200);
}

INSTANTIATE_TEST_SUITE_P(By, Searching,
                         testing::Values(GenerateSearch::kGreedy, GenerateSearch::kAStar),
                         [](const auto& test) {
                           return test.param == GenerateSearch::kGreedy ? "Greedy" : "AStar";
                         });

// The number of distinct states that the searches of an update visit.
std::size_t DifferentStates(const Domain& domain, Evaluator& network,
                            const ValueIterationOptions& options, std::int64_t rows) {
  const DataBuffer filled =
      Filled(domain, network, options, {.update = 0, .first_row = 0, .rows = rows});
  std::set<std::string> seen;
  for (std::int64_t i = 0; i < rows; ++i) seen.insert(RowText(filled, std::size_t(i)));
  return seen.size();
}

// With constant estimates, a rollout without random actions always takes the first possible action.
TEST(Greedy, RandomActionsBreakCycles) {
  const auto cube = MakeDomain("cube2");
  StandInEvaluator knows_nothing([](std::span<const std::uint8_t>) { return 1.0F; });
  ValueIterationOptions options{.seed = 1,
                                .max_scramble = 12,
                                .search = {.method = GenerateSearch::kGreedy, .epsilon = 0},
                                .search_iterations = 100};
  const std::size_t in_circles = DifferentStates(*cube, knows_nothing, options, 2000);
  options.search.epsilon = 0.2;
  EXPECT_GT(DifferentStates(*cube, knows_nothing, options, 2000), 4 * in_circles);
}

TEST(Greedy, TurnsBackOnlyInADeadEnd) {
  const PathDomain path(8);
  // The wrong estimates draw every rollout to the far end, where it can only turn back.
  StandInEvaluator wrong([](std::span<const std::uint8_t> state) { return 10.0F - state[0]; });
  const ValueIterationOptions options{.seed = 1,
                                      .max_scramble = 4,
                                      .search = {.method = GenerateSearch::kGreedy, .epsilon = 0},
                                      .search_iterations = 8};
  const DataBuffer rows = Filled(path, wrong, options, {.update = 0, .first_row = 0, .rows = 400});
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

TEST(AStarExamples, ExpandsNoStateTwice) {
  const auto cube = MakeDomain("cube2");
  StandInEvaluator knows_nothing([](std::span<const std::uint8_t>) { return 1.0F; });
  const ValueIterationOptions options{.seed = 1,
                                      .max_scramble = 14,
                                      .search = {.method = GenerateSearch::kAStar, .weight = 1},
                                      .search_iterations = 40};
  const DataBuffer rows =
      Filled(*cube, knows_nothing, options, {.update = 0, .first_row = 0, .rows = 400});
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
