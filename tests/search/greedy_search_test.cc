
#include <gtest/gtest.h>

#include <algorithm>

#include "support/goal_ball.h"
#include "support/head_evaluator.h"
#include "support/path_domain.h"
#include "support/ring_domain.h"
#include "support/searches.h"
#include "support/small_puzzles.h"
#include "support/stand_in_evaluator.h"

namespace tandem {
namespace {

TEST(GreedySearch, ExactEstimatesGiveShortestSolutions) {
  const RingDomain ring(20);
  StandInEvaluator truth(&RingDomain::Estimate);
  GreedySearch search(ring, truth, {.search = {.max_length = 100}});
  State starts;
  for (const std::size_t at : {0, 7, 19}) {
    const State start = ring.At(at);
    starts.insert(starts.end(), start.begin(), start.end());
  }
  std::vector<SearchResult> results(3);
  search.SolveAll(ConstRows(starts.data(), 3, 20), StopSignal(),
                  [&](std::size_t i, SearchResult result) { results[i] = std::move(result); });
  EXPECT_EQ(results[0].actions.size(), 0U);
  EXPECT_EQ(results[1].actions.size(), 7U);
  EXPECT_EQ(results[2].actions.size(), 1U);
  EXPECT_EQ(results[1].nodes, 14);
  EXPECT_EQ(results[1].expanded, 7);
  EXPECT_EQ(results[1].cost, 7.0F);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(results[i].solved);
    EXPECT_EQ(results[i].stop_reason, StopReason::kSolved);
    EXPECT_FALSE(results[i].best.has_value());
  }
  EXPECT_TRUE(Solves(ring, ring.At(7), results[1].actions));
}

TEST(GreedySearch, EndsEachOfMoreStartsThanItTakesAtOnceExactlyOnce) {
  constexpr std::size_t kStarts = 5000;
  const RingDomain ring(20);
  StandInEvaluator truth(&RingDomain::Estimate);
  GreedySearch search(ring, truth, {.search = {.max_length = 100}});
  State starts;
  for (std::size_t i = 0; i < kStarts; ++i) {
    const State start = ring.At(i % 20);
    starts.insert(starts.end(), start.begin(), start.end());
  }
  std::vector<int> ended(kStarts, 0);
  search.SolveAll(ConstRows(starts.data(), kStarts, 20), StopSignal(),
                  [&](std::size_t i, const SearchResult& result) {
                    ++ended[i];
                    EXPECT_EQ(result.actions.size(), std::min(i % 20, 20 - i % 20));
                  });
  EXPECT_EQ(ended, std::vector<int>(kStarts, 1));
}

TEST(GreedySearch, NeverVisitsAStateTwice) {
  // The estimates pull towards cell 10 from both sides, so without memory the search would stay
  // there.
  const RingDomain ring(20);
  StandInEvaluator trap(
      [](std::span<const std::uint8_t> state) { return 10 - RingDomain::Estimate(state); });
  GreedySearch search(ring, trap, {.search = {.max_length = 100}});
  const SearchResult result = search.Solve(ring.At(8), StopSignal());
  ASSERT_TRUE(result.solved);
  EXPECT_EQ(result.actions.size(), 12U);  // through cell 10 and round the ring
}

TEST(GreedySearch, LengthLimitReportsTheBestState) {
  const RingDomain ring(20);
  StandInEvaluator truth(&RingDomain::Estimate);
  GreedySearch search(ring, truth, {.search = {.max_length = 5}});
  const SearchResult result = search.Solve(ring.At(8), StopSignal());
  EXPECT_FALSE(result.solved);
  EXPECT_EQ(result.stop_reason, StopReason::kLengthLimit);
  EXPECT_TRUE(result.actions.empty());
  ASSERT_TRUE(result.best.has_value());
  EXPECT_EQ(result.best->estimate, 3.0F);
  EXPECT_EQ(RingDomain::Distance(After(ring, ring.At(8), result.best->actions)), 3);
}

TEST(GreedySearch, AllowedCostBoundsTheSolution) {
  const RingDomain ring(20);
  StandInEvaluator truth(&RingDomain::Estimate);
  const auto solve = [&](double at_most) {
    GreedySearch search(ring, truth, {.search = {.at_most = at_most}});
    return search.Solve(ring.At(8), StopSignal());
  };
  EXPECT_TRUE(solve(8).solved);
  EXPECT_EQ(solve(7).stop_reason, StopReason::kCostLimit);
  EXPECT_EQ(solve(7).expanded, 7);
}

TEST(GreedySearch, EndsWhereEveryNeighbourWasVisited) {
  const PathDomain path(4);
  StandInEvaluator away(
      [](std::span<const std::uint8_t> state) { return -static_cast<float>(state[0]); });
  GreedySearch search(path, away, {.search = {.max_length = 100}});
  const SearchResult result = search.Solve(State{2}, StopSignal());
  EXPECT_FALSE(result.solved);
  EXPECT_EQ(result.stop_reason, StopReason::kExhausted);
  EXPECT_EQ(result.expanded, 2);
}

// Q values, or a policy, that lead to the left, whatever the state.
class GoLeft final : public HeadEvaluator {
 public:
  explicit GoLeft(Head head) : HeadEvaluator(head) {}
  void Evaluate(ConstRows /*inputs*/, std::span<float> /*values*/) override { FAIL(); }
  void EvaluateActions(ConstRows /*inputs*/, std::span<float> values) override {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = float(i % 2);
    ++calls;
  }
  int calls = 0;
};

TEST(GreedySearch, QNetIsAskedOncePerStep) {
  const RingDomain ring(20);
  GoLeft network(Head::kQ);
  GreedySearch search(ring, network, {.search = {.max_length = 100}});
  const SearchResult result = search.Solve(ring.At(6), StopSignal());
  ASSERT_TRUE(result.solved);
  EXPECT_EQ(network.calls, std::ssize(result.actions));
  EXPECT_TRUE(Solves(ring, ring.At(6), result.actions));
}

TEST(GreedySearch, PolicyGivesNoEstimates) {
  const RingDomain ring(20);
  GoLeft policy(Head::kPolicy);
  GreedySearch search(ring, policy, {.search = {.max_length = 4}});
  const SearchResult result = search.Solve(ring.At(6), StopSignal());
  EXPECT_EQ(result.stop_reason, StopReason::kLengthLimit);
  EXPECT_FALSE(result.best.has_value());
  EXPECT_TRUE(search.Solve(ring.At(4), StopSignal()).solved);
}

TEST(GreedySearch, WayHomeFromTheBallCompletesTheSolution) {
  const RingDomain ring(20);
  const auto ball = BallOf(ring, 3);
  GoLeft network(Head::kQ);
  const auto solve = [&](std::size_t at, std::int64_t max_length) {
    GreedySearch search(ring, network, {.search = {.max_length = max_length}}, ball);
    return search.Solve(ring.At(at), StopSignal());
  };
  const SearchResult result = solve(6, 100);
  ASSERT_TRUE(result.solved);
  EXPECT_EQ(result.expanded, 3);  // from cells 6, 5 and 4
  EXPECT_EQ(result.actions.size(), 6U);
  EXPECT_TRUE(Solves(ring, ring.At(6), result.actions));
  EXPECT_EQ(solve(2, 100).nodes, 0);
  EXPECT_EQ(solve(2, 100).actions.size(), 2U);
  EXPECT_EQ(solve(6, 5).stop_reason, StopReason::kLengthLimit);
}

}  // namespace
}  // namespace tandem
