#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "base/random.h"
#include "domain/random_walks.h"
#include "generate/generator.h"
#include "support/generator_config.h"
#include "support/path_domain.h"
#include "support/ring_domain.h"
#include "support/small_puzzles.h"
#include "support/stand_in_evaluator.h"
#include "support/two_goals_domain.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::int64_t kRows = 400;

Config QConfig(Target target, std::int64_t max_scramble, std::int64_t chunk_rows = 64) {
  return GeneratorConfig(
      {.target = target, .max_scramble = max_scramble, .workers = 2, .chunk_rows = chunk_rows},
      Head::kQ);
}

// A different guess for each state, above every true cost of the puzzles here.
float Guess(std::span<const std::uint8_t> state) {
  float total = 40;
  for (std::size_t i = 0; i < state.size(); ++i) total += float(i % 7) * state[i] / 16;
  return total;
}

DataBuffer Filled(const Domain& domain, const Config& config, FillRequest request = {.rows = kRows},
                  StandInEvaluator network = StandInEvaluator(Guess)) {
  const auto generator = MakeGenerator(domain, config, &network);
  EXPECT_TRUE(generator->needs_network());
  DataBuffer rows(generator->schema(), static_cast<std::size_t>(request.rows));
  generator->Fill(request, rows, StopSignal());
  return rows;
}

// The only action of the row that has a weight.
Action LabelledAction(const DataBuffer& rows, std::size_t i) {
  const std::size_t width = rows.schema().columns[kTargetColumn].width;
  const auto weights = rows.floats(kWeightColumn).subspan(i * width, width);
  EXPECT_EQ(std::ranges::count(weights, 1.0F), 1);
  EXPECT_EQ(std::ranges::count(weights, 0.0F), static_cast<std::ptrdiff_t>(width) - 1);
  return static_cast<Action>(std::ranges::find(weights, 1.0F) - weights.begin());
}

float LabelOf(const DataBuffer& rows, std::size_t i, Action action) {
  return rows.floats(kTargetColumn)[i * rows.schema().columns[kTargetColumn].width + action];
}

// The states of both puzzles are their own inputs.
State StateOf(const DataBuffer& rows, std::size_t i) {
  const auto input = rows.column(kInputColumn)[i];
  return {input.begin(), input.end()};
}

TEST(QLearning, LabelIsTheActionsCostPlusTheEstimateOfTheChildAndZeroForAGoal) {
  const RingDomain ring(12, {2, 5});
  const DataBuffer rows = Filled(ring, QConfig(Target::kQLearning, 6));
  int goals = 0;
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    const Action action = LabelledAction(rows, i);
    const State child = After(ring, StateOf(rows, i), {action});
    const bool is_goal = RingDomain::Distance(child) == 0;
    goals += is_goal ? 1 : 0;
    const float cost = action == 0 ? 2 : 5;
    EXPECT_FLOAT_EQ(LabelOf(rows, i, action), is_goal ? cost : cost + Guess(child));
  }
  EXPECT_GT(goals, 0);
}

TEST(QLearning, EveryActionIsDrawnAlsoOneThatDoesNotApply) {
  const PathDomain path(5);
  const DataBuffer rows = Filled(path, QConfig(Target::kQLearning, 6));
  int at_the_wall = 0;
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    const Action action = LabelledAction(rows, i);
    const State state = StateOf(rows, i);
    if (state[0] != 4 || action != 1) continue;
    ++at_the_wall;
    EXPECT_FLOAT_EQ(LabelOf(rows, i, action), 1 + Guess(state));  // the child is the state itself
  }
  EXPECT_GT(at_the_wall, 0);
  const auto cube = MakeDomain("cube2");
  const DataBuffer turns = Filled(*cube, QConfig(Target::kQLearning, 6));
  std::vector<int> drawn(static_cast<std::size_t>(cube->spec().num_actions()));
  for (std::size_t i = 0; i < turns.rows(); ++i) ++drawn[LabelledAction(turns, i)];
  EXPECT_GT(std::ranges::min(drawn), 0);
}

TEST(QLearning, CappedLabelIsAtMostTheActionItsUndoingAndTheWayBack) {
  const RingDomain ring(30, {2, 5});
  const Config config = QConfig(Target::kCappedQLearning, 9);
  const FillRequest request{.update = 3, .first_row = 20, .rows = kRows};
  const DataBuffer rows = Filled(ring, config, request);
  State state(30);
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    Random random(config.random_seed(), Purpose::kScramble, 3, 20 + i);
    const std::int64_t length = DrawScrambleLength(random, 9);
    const float way_back = WalkFromGoal(ring, random, length, state);
    EXPECT_EQ(StateOf(rows, i), state);
    const Action action = LabelledAction(rows, i);
    const State child = After(ring, state, {action});
    const float cost = action == 0 ? 2 : 5;
    const float backup = RingDomain::Distance(child) == 0 ? cost : cost + Guess(child);
    EXPECT_FLOAT_EQ(LabelOf(rows, i, action), std::min(backup, way_back + 2 + 5));
  }
}

TEST(QLearning, NegativeEstimatesCountAsZero) {
  const RingDomain ring(12);
  const DataBuffer rows =
      Filled(ring, QConfig(Target::kQLearning, 6), {.rows = kRows},
             StandInEvaluator([](std::span<const std::uint8_t>) { return -3.0F; }));
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    EXPECT_EQ(LabelOf(rows, i, LabelledAction(rows, i)), 1);
  }
}

TEST(QLearning, RowsDoNotDependOnHowTheyAreSplit) {
  const auto cube = MakeDomain("cube2");
  const DataBuffer whole =
      Filled(*cube, QConfig(Target::kQLearning, 9, 1000), {.update = 4, .rows = 300});
  const DataBuffer part =
      Filled(*cube, QConfig(Target::kQLearning, 9, 7), {.update = 4, .first_row = 45, .rows = 100});
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(StateOf(part, i), StateOf(whole, 45 + i));
    const Action action = LabelledAction(part, i);
    EXPECT_EQ(action, LabelledAction(whole, 45 + i));
    EXPECT_EQ(LabelOf(part, i, action), LabelOf(whole, 45 + i, action));
  }
}

TEST(QLearning, BallGivesExactLabelsOfAllActionsAndBoundsTheRest) {
  const PancakeDomain pancakes(6);
  StateMap distances = Distances(pancakes);
  Config config = QConfig(Target::kQLearning, 9);
  config.generate.ball_radius = 2;
  config.generate.anchor_share = 0.2;
  const DataBuffer rows =
      Filled(pancakes, config, {.rows = kRows},
             StandInEvaluator([](std::span<const std::uint8_t>) { return 0.5F; }));
  const std::size_t width = rows.schema().columns[kTargetColumn].width;
  int inside = 0;
  int outside = 0;
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    const State state = StateOf(rows, i);
    if (distances.at(state) <= 2) {
      ++inside;
      for (std::size_t a = 0; a < width; ++a) {
        const auto action = static_cast<Action>(a);
        EXPECT_EQ(rows.floats(kWeightColumn)[i * width + a], 1);
        EXPECT_EQ(LabelOf(rows, i, action),
                  1 + static_cast<float>(distances.at(After(pancakes, state, {action}))));
      }
      continue;
    }
    ++outside;
    const Action action = LabelledAction(rows, i);
    const int child = distances.at(After(pancakes, state, {action}));
    EXPECT_EQ(LabelOf(rows, i, action), 1 + static_cast<float>(std::min(child, 3)));
  }
  EXPECT_GT(inside, kRows / 5 / 2);
  EXPECT_GT(outside, kRows / 4);
}

TEST(QLearning, NanEstimateNamesTheChild) {
  const PathDomain path(9);
  StandInEvaluator broken(
      [](std::span<const std::uint8_t> state) { return state[0] == 3 ? std::nanf("") : 1.0F; });
  EXPECT_THAT([&] { Filled(path, QConfig(Target::kQLearning, 6), {.rows = kRows}, broken); },
              ThrowsMessage<Error>(HasSubstr("state 3 is not a number")));
}

TEST(QLearning, ABallRefusesASecondGoal) {
  const TwoGoalsDomain path(10);
  Config config = QConfig(Target::kQLearning, 12);
  config.generate.ball_radius = 2;
  EXPECT_THAT([&] { Filled(path, config); },
              ThrowsMessage<InputError>(HasSubstr("there is more than one goal, for example 9")));
}

}  // namespace
}  // namespace tandem
