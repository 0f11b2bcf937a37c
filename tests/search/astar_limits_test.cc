// Tests of A* when it finds no solution or reaches a limit.
#include <gtest/gtest.h>

#include <chrono>

#include "support/goal_ball.h"
#include "support/ring_domain.h"
#include "support/searches.h"
#include "support/small_puzzles.h"
#include "support/stand_in_evaluator.h"
#include "tandem/error.h"

namespace tandem {
namespace {

TEST(AStarLimits, NodeLimitReportsTheBestPath) {
  const RingDomain ring(100);
  StandInEvaluator truth(&RingDomain::Estimate);
  AStar search(ring, truth, {.search = {.weight = 1, .batch = 1, .max_nodes = 20}});
  const State start = ring.At(40);
  const SearchResult result = search.Solve(start, StopSignal());
  EXPECT_FALSE(result.solved);
  EXPECT_EQ(result.stop_reason, StopReason::kNodeLimit);
  EXPECT_EQ(result.stored, 20);
  EXPECT_GE(result.nodes, 20);
  EXPECT_TRUE(result.actions.empty());
  ASSERT_TRUE(result.best.has_value());
  // The 20 nodes are the start, one state in the wrong direction and 18 towards the goal.
  EXPECT_EQ(result.best->estimate, 40.0F - 18);
  EXPECT_EQ(result.best->cost, 18.0F);
  EXPECT_EQ(RingDomain::Distance(After(ring, start, result.best->actions)), 22);
}

TEST(AStarLimits, NodeLimitOfAllStatesIsNotReached) {
  const CycleDomain cycles(6);
  StandInEvaluator zero([](std::span<const std::uint8_t>) { return 0.0F; });
  AStar search(cycles, zero, {.search = {.weight = 1, .batch = 10, .max_nodes = 360}});
  const State odd = {1, 0, 2, 3, 4, 5};
  EXPECT_EQ(search.Solve(odd, StopSignal()).stop_reason, StopReason::kExhausted);
}

TEST(AStarLimits, AllowedCostBoundsTheSolutionAndSavesNodes) {
  const PancakeDomain pancakes(6, 0.3F);
  StandInEvaluator zero([](std::span<const std::uint8_t>) { return 0.0F; });
  const auto solve = [&](const State& start, double at_most, double weight = 1) {
    AStar search(pancakes, zero, {.search = {.weight = weight, .batch = 1, .at_most = at_most}});
    return search.Solve(start, StopSignal());
  };
  for (const auto& [start, distance] : Distances(pancakes)) {
    if (distance < 2) continue;
    const SearchResult without = solve(start, 0);
    const SearchResult exact = solve(start, 0.3 * distance);
    ASSERT_TRUE(exact.solved);
    ASSERT_EQ(exact.cost, without.cost);
    ASSERT_TRUE(solve(start, 0.3 * distance, /*weight=*/0).solved);
    ASSERT_LE(exact.stored, without.stored);
    const SearchResult too_low = solve(start, 0.3 * distance - 0.1);
    ASSERT_FALSE(too_low.solved);
    ASSERT_EQ(too_low.stop_reason, StopReason::kCostLimit);
    ASSERT_LT(too_low.stored, exact.stored);
  }
}

TEST(AStarLimits, AllowedCostHoldsForTheWayHomeFromTheBall) {
  const PancakeDomain pancakes(6);
  StandInEvaluator zero([](std::span<const std::uint8_t>) { return 0.0F; });
  const auto ball = BallOf(pancakes, 3);
  for (const auto& [start, distance] : Distances(pancakes)) {
    for (const int at_most : {distance - 1, distance, distance + 1}) {
      if (distance == 0 || at_most == 0) continue;  // 0 is no limit
      AStar search(pancakes, zero, {.search = {.weight = 1, .at_most = double(at_most)}}, ball);
      const SearchResult result = search.Solve(start, StopSignal());
      ASSERT_EQ(result.solved, at_most >= distance);
      ASSERT_EQ(result.stop_reason,
                at_most >= distance ? StopReason::kSolved : StopReason::kCostLimit);
      ASSERT_EQ(std::ssize(result.actions), result.solved ? distance : 0);
    }
  }
}

TEST(AStarLimits, SolutionFoundBeforeTheNodeLimitCounts) {
  const PancakeDomain pancakes(6);
  StandInEvaluator zero([](std::span<const std::uint8_t>) { return 0.0F; });
  AStar search(pancakes, zero, {.search = {.weight = 1, .batch = 1000, .max_nodes = 6}});
  const State start = After(pancakes, {0, 1, 2, 3, 4, 5}, {1, 4});
  const SearchResult result = search.Solve(start, StopSignal());
  EXPECT_TRUE(result.solved);
  EXPECT_EQ(result.stop_reason, StopReason::kNodeLimit);
  EXPECT_TRUE(Solves(pancakes, start, result.actions));
}

TEST(AStarLimits, UnsolvablePuzzleIsExhausted) {
  const CycleDomain cycles(6);
  StandInEvaluator three([](std::span<const std::uint8_t>) { return 3.0F; });
  const State starts = {1, 0, 2, 3, 4, 5, 0, 2, 1, 3, 4, 5, 1, 2, 0, 3, 4, 5};
  AStar search(cycles, three, {.search = {.weight = 1, .batch = 7, .instances = 3}});
  std::vector<SearchResult> results(3);
  search.SolveAll(ConstRows(starts.data(), 3, 6), StopSignal(),
                  [&](std::size_t i, SearchResult result) { results[i] = std::move(result); });
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_FALSE(results[i].solved);
    EXPECT_EQ(results[i].stop_reason, StopReason::kExhausted);
    EXPECT_EQ(results[i].stored, 360);
    EXPECT_EQ(results[i].expanded, 360);
    ASSERT_TRUE(results[i].best.has_value());
    EXPECT_EQ(results[i].best->estimate, 3.0F);
  }
  EXPECT_TRUE(results[2].solved);
}

TEST(AStarLimits, TimeLimitReportsTheBestPath) {
  const RingDomain ring(200);
  SlowOnceEvaluator slow(10, std::chrono::milliseconds(100), &RingDomain::Estimate);
  AStar search(ring, slow, {.search = {.weight = 1, .batch = 1, .max_seconds = 0.1}});
  const State start = ring.At(90);
  const SearchResult result = search.Solve(start, StopSignal());
  EXPECT_FALSE(result.solved);
  EXPECT_EQ(result.stop_reason, StopReason::kTimeLimit);
  EXPECT_GE(result.seconds, 0.1);
  EXPECT_LE(slow.rows(), 12);
  ASSERT_TRUE(result.best.has_value());
  EXPECT_EQ(RingDomain::Distance(After(ring, start, result.best->actions)),
            int(result.best->estimate));
}

TEST(AStarLimits, EachPuzzleHasItsOwnTimeLimit) {
  // The second puzzle starts after the first has used up its time, and has its full time limit.
  const RingDomain ring(200);
  SlowOnceEvaluator slow(3, std::chrono::milliseconds(500), &RingDomain::Estimate);
  AStar search(ring, slow, {.search = {.weight = 1, .batch = 1, .max_seconds = 0.5}});
  State starts = ring.At(90);
  const State near = ring.At(5);
  starts.insert(starts.end(), near.begin(), near.end());
  std::vector<StopReason> reasons;
  search.SolveAll(
      ConstRows(starts.data(), 2, 200), StopSignal(),
      [&](std::size_t, const SearchResult& result) { reasons.push_back(result.stop_reason); });
  EXPECT_EQ(reasons, (std::vector{StopReason::kTimeLimit, StopReason::kSolved}));
}

TEST(AStarLimits, GoalStateNeedsNoActionsAndNoEvaluation) {
  const RingDomain ring(10);
  StandInEvaluator never([](std::span<const std::uint8_t>) -> float { throw 1; });
  AStar search(ring, never, {.search = {.weight = 1, .batch = 1}});
  const SearchResult result = search.Solve(ring.At(0), StopSignal());
  EXPECT_TRUE(result.solved);
  EXPECT_EQ(result.stop_reason, StopReason::kSolved);
  EXPECT_TRUE(result.actions.empty());
  EXPECT_EQ(result.nodes, 0);
}

TEST(AStarLimits, CanBeReusedAfterAStop) {
  const RingDomain ring(10);
  StandInEvaluator truth(&RingDomain::Estimate);
  AStar search(ring, truth, {.search = {.weight = 1, .batch = 1}});
  StopSignal stop;
  stop.Request();
  EXPECT_THROW(search.Solve(ring.At(3), stop), Stopped);
  EXPECT_EQ(search.Solve(ring.At(3), StopSignal()).actions.size(), 3U);
}

}  // namespace
}  // namespace tandem
