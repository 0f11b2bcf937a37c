#include "search/goal_ball.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "base/random.h"
#include "domain/random_walks.h"
#include "search/hash_set.h"
#include "support/breadth_first.h"
#include "support/goal_ball.h"
#include "support/path_domain.h"
#include "support/ring_domain.h"
#include "support/roads_domain.h"
#include "support/searches.h"
#include "support/small_puzzles.h"
#include "support/stand_in_evaluator.h"
#include "tandem/error.h"
#include "tandem/puzzle.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::size_t kNoLimit = std::size_t{1} << 40;

std::string ReasonFor(const Domain& domain) {
  try {
    const GoalBall ball(domain, 2, kNoLimit);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(GoalBall, HoldsExactlyTheStatesWithinItsRadius) {
  const PancakeDomain pancakes(6);
  const StateMap distances = Distances(pancakes);
  const GoalBall ball(pancakes, 4, kNoLimit);
  std::size_t within = 0;
  for (const auto& [state, distance] : distances) {
    const std::optional<float> cost = ball.CostOf(state);
    ASSERT_EQ(cost.has_value(), distance <= 4);
    if (!cost) continue;
    ++within;
    EXPECT_EQ(*cost, static_cast<float>(distance));
    const std::vector<Action> way = ball.PathToGoal(state);
    EXPECT_EQ(way.size(), static_cast<std::size_t>(distance));
    EXPECT_TRUE(Solves(pancakes, state, way));
  }
  EXPECT_EQ(ball.size(), within);
  EXPECT_EQ(ball.radius(), 4.0F);
  EXPECT_FALSE(ball.limited());
  EXPECT_EQ(ball.least_cost_outside(), 5.0F);
}

TEST(GoalBall, CountsTheStatesOfCubesAndTiles) {
  for (const char* name : {"cube2", "cube3", "npuzzle:3"}) {
    const auto domain = MakeDomain(name);
    const auto hash = [](std::span<const std::uint8_t> state) { return HashState(state); };
    std::size_t expected = 0;
    for (const std::size_t level : CountLevels(*domain, 4, hash)) expected += level;
    EXPECT_EQ(GoalBall(*domain, 4, kNoLimit).size(), expected) << name;
  }
}

TEST(GoalBall, StatesOfAWholePuzzleHaveNoneOutside) {
  const auto tiles = MakeDomain("npuzzle:3");
  const GoalBall ball(*tiles, 100, kNoLimit);
  EXPECT_EQ(ball.size(), 181'440U);
  EXPECT_EQ(ball.cost(ball.size() - 1), 31.0F);
  EXPECT_EQ(ball.least_cost_outside(), std::numeric_limits<float>::infinity());
}

TEST(GoalBall, UnequalCostsGiveTheCheapestWays) {
  const RingDomain ring(20, {1, 3});  // "l" costs 1 and "r" costs 3
  const GoalBall ball(ring, 6, kNoLimit);
  std::vector<std::uint8_t> state(20, 0);
  for (std::size_t cell = 0; cell < 20; ++cell) {
    std::ranges::fill(state, std::uint8_t{0});
    state[cell] = 1;
    // Solve in both directions to find the true cost.
    float least = std::numeric_limits<float>::infinity();
    for (const Action action : {Action{0}, Action{1}}) {
      State at = state;
      float cost = 0;
      while (at[0] == 0) {
        ring.Apply(Rows(std::span(at)), {&action, 1});
        cost += ring.spec().action_costs[action];
      }
      least = std::min(least, cost);
    }
    ASSERT_EQ(ball.CostOf(state).has_value(), least <= 6) << cell;
    if (least > 6) continue;
    EXPECT_EQ(*ball.CostOf(state), least);
    EXPECT_EQ(CostOf(ring.spec(), ball.PathToGoal(state)), least);
  }
  EXPECT_EQ(ball.least_cost_outside(), 7.0F);
}

// Seven steps of 0.1 cost a little more than 0.7 if they are added as floats.
TEST(GoalBall, RoundedSumsOfCostsCountAsWithinTheRadius) {
  const RingDomain ring(30, {0.1F, 0.1F});
  const GoalBall ball(ring, 0.7F, kNoLimit);
  EXPECT_EQ(ball.size(), 15U);
  for (std::size_t cell = 0; cell < 30; ++cell) {
    EXPECT_EQ(ball.CostOf(ring.At(cell)).has_value(), cell <= 7 || cell >= 23) << cell;
  }
  EXPECT_NEAR(ball.least_cost_outside(), 0.8F, 1e-6);
}

TEST(GoalBall, MemoryLimitGivesTheLargestRadiusThatFits) {
  const auto cube = MakeDomain("cube3");
  const GoalBall three(*cube, 3, kNoLimit);
  const GoalBall limited(*cube, 6, 2 * three.bytes());
  EXPECT_TRUE(limited.limited());
  EXPECT_EQ(limited.radius(), 3.0F);
  EXPECT_EQ(limited.size(), three.size());
  EXPECT_EQ(limited.least_cost_outside(), 4.0F);
  EXPECT_LE(limited.bytes(), 2 * three.bytes());
}

TEST(GoalBall, ActionsThatDoNotApplyLeadNowhere) {
  const PathDomain path(9);
  const GoalBall ball(path, 5, kNoLimit);
  EXPECT_EQ(ball.size(), 6U);
  const State state = {5};
  EXPECT_EQ(ball.PathToGoal(state), std::vector<Action>(5, Action{0}));
}

TEST(GoalBall, RefusesPuzzlesWithoutABallAndSaysWhy) {
  EXPECT_THAT(ReasonFor(*MakeDomain("sokoban")), HasSubstr("each problem has a goal of its own"));
  const RoadsDomain one_way({{1}, {0}}, {1});
  EXPECT_THAT(ReasonFor(one_way), HasSubstr("some actions have no inverse"));
}

// A walk along cells 0 to 9, both of whose ends are goals.
struct OpenPath {
  static constexpr int kActions = 2;
  static constexpr int kDepth = 10;
  using State = std::array<std::uint8_t, 1>;
  static State Goal() { return {0}; }
  static bool IsGoal(const State& state) { return state[0] == 0 || state[0] == 9; }
  static bool Apply(State& state, int action) {
    if (state[0] == (action == 0 ? 0 : 9)) return false;
    state[0] = static_cast<std::uint8_t>(state[0] + (action == 0 ? -1 : 1));
    return true;
  }
  static int Inverse(int action) { return 1 - action; }
};

TEST(GoalBall, RefusesASecondGoalInsideAndOutside) {
  const PuzzleDomain<OpenPath> path("path");
  for (const float radius : {9.0F, 5.0F}) {  // at 5, state 5 is nearer to the second goal
    EXPECT_THAT([&] { GoalBall(path, radius, kNoLimit); },
                ThrowsMessage<InputError>(HasSubstr("there is more than one goal, for example 9")));
  }
  StandInEvaluator ignorant([](std::span<const std::uint8_t>) { return 0.0F; });
  const Config config{.search = {.beam_width = 10, .max_length = 20}};
  BeamSearch beam(path, ignorant, config, BallOf(path, 2));
  EXPECT_THAT([&] { beam.Solve(State{7}, StopSignal()); },
              ThrowsMessage<InputError>(HasSubstr("there is more than one goal, for example 9")));
}

// The end of a random walk of 7 moves.
State CubeState(const Domain& cube, std::uint64_t number) {
  State state(static_cast<std::size_t>(cube.spec().state_size));
  WalkFromGoal(cube, Random(5, Purpose::kScramble, 0, number), 7, state);
  return state;
}

TEST(BallSearch, BeamWithABallEndsAsManyDepthsEarlierAsTheBallHas) {
  const auto cube = MakeDomain("cube3");
  StandInEvaluator ignorant([](std::span<const std::uint8_t>) { return 0.0F; });
  const Config config{.search = {.beam_width = 3'000, .max_length = 7}};
  const auto ball = BallOf(*cube, 4);
  BeamSearch with_ball(*cube, ignorant, config, ball);
  for (std::uint64_t i = 0; i < 2; ++i) {
    const State start = CubeState(*cube, i);
    const SearchResult result = with_ball.Solve(start, StopSignal());
    ASSERT_TRUE(result.solved);
    EXPECT_TRUE(Solves(*cube, start, result.actions));
    EXPECT_EQ(result.cost, static_cast<float>(result.actions.size()));
    EXPECT_LE(result.actions.size(), 7U);
    EXPECT_LE(result.nodes, 12 + 12 * 12 + 12 * 120);  // at most three depths
  }
}

TEST(BallSearch, StartInTheBallNeedsNoNodes) {
  const auto cube = MakeDomain("cube3");
  StandInEvaluator never([](std::span<const std::uint8_t>) -> float { throw 1; });
  const auto ball = BallOf(*cube, 3);
  const State start(ball->state(ball->size() - 1).begin(), ball->state(ball->size() - 1).end());
  BeamSearch beam(*cube, never, {}, ball);
  AStar astar(*cube, never, {}, ball);
  for (Search* search : {static_cast<Search*>(&beam), static_cast<Search*>(&astar)}) {
    const SearchResult result = search->Solve(start, StopSignal());
    EXPECT_TRUE(result.solved);
    EXPECT_EQ(result.actions.size(), 3U);
    EXPECT_TRUE(Solves(*cube, start, result.actions));
    EXPECT_EQ(result.nodes, 0);
  }
}

TEST(BallSearch, BeamCountsTheWayHomeTowardsMaxLength) {
  const RingDomain ring(100);
  StandInEvaluator truth(&RingDomain::Estimate);
  const State start = ring.At(37);
  const auto ball = BallOf(ring, 10);
  BeamSearch enough(ring, truth, {.search = {.beam_width = 1, .max_length = 37}}, ball);
  EXPECT_EQ(enough.Solve(start, StopSignal()).actions.size(), 37U);
  EXPECT_EQ(enough.Solve(start, StopSignal()).expanded, 27);
  BeamSearch short_of(ring, truth, {.search = {.beam_width = 1, .max_length = 36}}, ball);
  EXPECT_EQ(short_of.Solve(start, StopSignal()).stop_reason, StopReason::kLengthLimit);
}

TEST(BallSearch, AStarStaysOptimalWithABall) {
  const PancakeDomain pancakes(6);
  const StateMap distances = Distances(pancakes);
  // Admissible, but far from consistent.
  StandInEvaluator estimates([&](std::span<const std::uint8_t> state) {
    const int distance = distances.at({state.begin(), state.end()});
    return state[0] % 2 == 0 ? static_cast<float>(distance) : 0.0F;
  });
  const auto ball = BallOf(pancakes, 3);
  std::int64_t nodes = 0, nodes_with_ball = 0;
  for (const std::int64_t batch : {1, 100}) {
    const Config config{.search = {.weight = 1, .batch = batch}};
    AStar plain(pancakes, estimates, config);
    AStar with_ball(pancakes, estimates, config, ball);
    for (const auto& [state, distance] : distances) {
      const SearchResult result = with_ball.Solve(state, StopSignal());
      ASSERT_EQ(result.cost, static_cast<float>(distance));
      EXPECT_TRUE(Solves(pancakes, state, result.actions));
      nodes_with_ball += result.nodes;
      nodes += plain.Solve(state, StopSignal()).nodes;
    }
  }
  EXPECT_LT(nodes_with_ball, nodes / 2);
}

TEST(BallSearch, AStarWithABallAndUnequalCostsFindsTheCheapest) {
  const RingDomain ring(40, {1, 3});
  StandInEvaluator zero([](std::span<const std::uint8_t>) { return 0.0F; });
  AStar search(ring, zero, {.search = {.weight = 1, .batch = 4}}, BallOf(ring, 5));
  AStar plain(ring, zero, {.search = {.weight = 1, .batch = 4}});
  State start(40, 0);
  for (std::size_t cell = 0; cell < 40; ++cell) {
    std::ranges::fill(start, std::uint8_t{0});
    start[cell] = 1;
    EXPECT_EQ(search.Solve(start, StopSignal()).cost, plain.Solve(start, StopSignal()).cost);
  }
}

}  // namespace
}  // namespace tandem
