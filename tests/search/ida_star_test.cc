
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "search/hash_set.h"
#include "support/goal_ball.h"
#include "support/ring_domain.h"
#include "support/roads_domain.h"
#include "support/searches.h"
#include "support/small_puzzles.h"
#include "support/stand_in_evaluator.h"

namespace tandem {
namespace {

using testing::HasSubstr;

constexpr double kByte = 1.0 / (1 << 30);  // in GiB

// All pancakes of five, with their distances. All advance together.
class IdaStarOnPancakes : public testing::Test {
 protected:
  using Estimate = std::function<float(const State& state, int distance)>;

  // Solves all states. Returns how much each solution costs beyond the least.
  std::vector<float> ExcessWith(const Estimate& estimate, double weight) const {
    StandInEvaluator evaluator([&](std::span<const std::uint8_t> row) {
      const State state(row.begin(), row.end());
      return estimate(state, distances_.at(state));
    });
    State starts;
    std::vector<int> least;
    for (const auto& [state, distance] : distances_) {
      starts.insert(starts.end(), state.begin(), state.end());
      least.push_back(distance);
    }
    IdaStar search(pancakes_, evaluator, {.search = {.max_length = 20, .weight = weight}});
    std::vector<float> excess(least.size(), -1);
    search.SolveAll(ConstRows(starts.data(), least.size(), 5), StopSignal(),
                    [&](std::size_t i, const SearchResult& result) {
                      const State start(starts.begin() + std::ptrdiff_t(5 * i),
                                        starts.begin() + std::ptrdiff_t(5 * (i + 1)));
                      EXPECT_TRUE(result.solved);
                      EXPECT_EQ(result.stop_reason, StopReason::kSolved);
                      EXPECT_TRUE(Solves(pancakes_, start, result.actions));
                      EXPECT_EQ(result.cost, static_cast<float>(result.actions.size()));
                      excess[i] = result.cost - static_cast<float>(least[i]);
                    });
    return excess;
  }

  const PancakeDomain pancakes_{5};
  const StateMap distances_ = Distances(pancakes_);
};

TEST_F(IdaStarOnPancakes, ConsistentEstimatesGiveShortestSolutions) {
  const auto consistent = [](const State& /*state*/, int distance) {
    return 0.7F * static_cast<float>(distance);
  };
  for (const double weight : {1.0, 1.4}) {
    EXPECT_THAT(ExcessWith(consistent, weight), testing::Each(0.0F));
  }
  const auto zero = [](const State& /*state*/, int /*distance*/) { return 0.0F; };
  EXPECT_THAT(ExcessWith(zero, 1), testing::Each(0.0F));
}

TEST_F(IdaStarOnPancakes, EstimatesThatAreNeverTooHighGiveShortestSolutions) {
  const auto erratic = [](const State& state, int distance) {
    Random random(HashState(state), Purpose::kShuffle);
    return static_cast<float>(random.Share() * distance);
  };
  EXPECT_THAT(ExcessWith(erratic, 1), testing::Each(0.0F));
  const std::vector<float> excess = ExcessWith(erratic, 0.5);
  std::size_t i = 0;
  for (const auto& [state, distance] : distances_) {
    EXPECT_LE(excess[i++], static_cast<float>(distance));  // at most twice the least
  }
}

TEST(IdaStar, SolutionWithinARaisedBoundIsReplacedByACheaperOne) {
  // From city 1, action b costs 1.5 and leads to city 2, and a costs 1 and leads to city 3. From
  // both, a leads to the goal. The first bound is 1.6 and the second 2.6, which both solutions are
  // within. City 2 has the lesser value, so the search takes b first.
  const RoadsDomain map({{0, 0}, {3, 2}, {0, 2}, {0, 3}}, {1, 1.5F});
  StandInEvaluator estimates([](std::span<const std::uint8_t> city) {
    return std::vector<float>{0, 1.6F, 0.25F, 1}[city[0]];
  });
  IdaStar search(map, estimates, {.search = {.weight = 1}});
  const SearchResult result = search.Solve(State{1}, StopSignal());
  EXPECT_EQ(result.actions, (std::vector<Action>{0, 0}));
  EXPECT_EQ(result.cost, 2.0F);
}

TEST(IdaStar, NoPathVisitsAStateTwice) {
  // The estimates pull towards cell 10, and weight 0 ignores how long a path has become.
  const RingDomain ring(20);
  StandInEvaluator trap(
      [](std::span<const std::uint8_t> state) { return 10 - RingDomain::Estimate(state); });
  IdaStar search(ring, trap, {.search = {.max_length = 100, .weight = 0}});
  const SearchResult result = search.Solve(ring.At(8), StopSignal());
  ASSERT_TRUE(result.solved);
  State state = ring.At(8);
  std::set<State, ByBytes> seen = {state};
  for (const Action action : result.actions) {
    state = After(ring, state, {action});
    EXPECT_TRUE(seen.insert(state).second);
  }
  EXPECT_TRUE(Solves(ring, ring.At(8), result.actions));
}

TEST(IdaStar, BoundsOfEstimatesThatAllDifferDoNotCrawl) {
  const RingDomain ring(20);
  const auto expanded = [&](float noise) {
    StandInEvaluator evaluator([&](std::span<const std::uint8_t> state) {
      Random random(HashState(state), Purpose::kShuffle);
      return noise * static_cast<float>(random.Share());
    });
    IdaStar search(ring, evaluator, {.search = {.weight = 1}});
    const SearchResult result = search.Solve(ring.At(9), StopSignal());
    EXPECT_EQ(result.actions.size(), 9U);
    return result.expanded;
  };
  // If each bound were the least value above the last, there would be twice as many iterations.
  EXPECT_LE(static_cast<double>(expanded(0.9F)), 1.1 * static_cast<double>(expanded(0)));
}

TEST(IdaStar, WayHomeFromTheBallCompletesTheSolution) {
  const RingDomain ring(20);
  const auto ball = BallOf(ring, 3);
  StandInEvaluator truth(&RingDomain::Estimate);
  const auto solve = [&](std::size_t at, std::int64_t max_length) {
    IdaStar search(ring, truth, {.search = {.max_length = max_length, .weight = 1}}, ball);
    return search.Solve(ring.At(at), StopSignal());
  };
  EXPECT_EQ(solve(7, 100).actions.size(), 7U);
  EXPECT_EQ(solve(7, 100).expanded, 4);  // cell 3 is in the ball
  EXPECT_EQ(solve(2, 100).expanded, 0);
  EXPECT_TRUE(solve(7, 7).solved);
  const SearchResult none = solve(7, 6);
  EXPECT_EQ(none.stop_reason, StopReason::kLengthLimit);
  EXPECT_EQ(none.best->estimate, 4.0F);  // states of known cost are not evaluated
}

// A ring of numbers that one move rotates by 1, at cost 1, and another by 3, at cost 5.
class RotationsDomain final : public RowPuzzle {
 public:
  RotationsDomain() : RowPuzzle("rotations", 12, {1, 1, 5, 5}, Moves()) {}

 private:
  static std::vector<Permutation> Moves() {
    std::vector<Permutation> moves;
    for (const int by : {1, 11, 3, 9}) {
      moves.push_back(InOrder<Permutation>(12));
      std::ranges::rotate(moves.back(), moves.back().begin() + by);
    }
    return moves;
  }
};

// From the state three rotations away, the ball's way takes three moves, and a dearer one takes
// one.
TEST(IdaStar, DearerWayFromTheBallCountsIfTheCheapestOneIsTooLong) {
  const RotationsDomain ring;
  StandInEvaluator zero([](std::span<const std::uint8_t>) { return 0.0F; });
  const State start = After(ring, GoalOf(ring), {2, 2});
  for (const float radius : {1.0F, 3.0F, 6.0F}) {
    const auto solve = [&](std::int64_t max_length) {
      IdaStar search(ring, zero, {.search = {.max_length = max_length, .weight = 1}},
                     BallOf(ring, radius));
      return search.Solve(start, StopSignal());
    };
    EXPECT_EQ(solve(6).cost, 6);
    EXPECT_EQ(solve(5).cost, 8);   // by 3 once, and by 1 three times
    EXPECT_EQ(solve(3).cost, 10);  // by 3 twice
    EXPECT_EQ(solve(2).cost, 10);
    EXPECT_EQ(solve(1).stop_reason, StopReason::kLengthLimit);
  }
}

TEST(IdaStar, StartsAdvanceTogether) {
  const RingDomain ring(20);
  std::vector<std::size_t> batches;
  class Recorder final : public Evaluator {
   public:
    explicit Recorder(std::vector<std::size_t>& batches) : batches_(batches) {}
    void Evaluate(ConstRows inputs, std::span<float> values) override {
      batches_.push_back(inputs.size());
      for (std::size_t i = 0; i < inputs.size(); ++i) values[i] = RingDomain::Estimate(inputs[i]);
    }

   private:
    std::vector<std::size_t>& batches_;
  } truth(batches);
  IdaStar search(ring, truth, {.search = {.weight = 1}});
  State starts;
  for (const std::size_t at : {5, 0, 6}) {
    const State start = ring.At(at);
    starts.insert(starts.end(), start.begin(), start.end());
  }
  std::vector<std::size_t> lengths(3, 99);
  search.SolveAll(
      ConstRows(starts.data(), 3, 20), StopSignal(),
      [&](std::size_t i, const SearchResult& result) { lengths[i] = result.actions.size(); });
  EXPECT_EQ(lengths, (std::vector<std::size_t>{5, 0, 6}));
  // Both starts that are no goals, then both children of each. After the first step, the way back
  // is on the path, and the last step evaluates neither the goal nor the way back.
  EXPECT_EQ(batches, (std::vector<std::size_t>{2, 4, 2, 2, 2, 1}));
}

TEST(IdaStar, NodeLimitIsExact) {
  const RingDomain ring(20);
  StandInEvaluator truth(&RingDomain::Estimate);
  for (const std::int64_t limit : {13, 14}) {  // 7 steps of 2 children
    IdaStar search(ring, truth, {.search = {.weight = 1, .max_nodes = limit}});
    const SearchResult result = search.Solve(ring.At(7), StopSignal());
    EXPECT_EQ(result.solved, limit == 14);
    EXPECT_EQ(result.stop_reason, limit == 14 ? StopReason::kSolved : StopReason::kNodeLimit);
    EXPECT_LE(result.nodes, limit);
    if (result.solved) continue;
    EXPECT_EQ(result.best->estimate, 1.0F);
    EXPECT_EQ(RingDomain::Distance(After(ring, ring.At(7), result.best->actions)), 1);
    EXPECT_EQ(search.Failure(result),
              "no solution found with 13 nodes (search.max_nodes); lower search.weight (1), or "
              "raise search.max_nodes");
  }
}

TEST(IdaStar, MemoryIsThatOfThePath) {
  const RingDomain ring(20);
  StandInEvaluator truth(&RingDomain::Estimate);
  // Each state takes 20 bytes and 16 for its two actions, and the next children take 60.
  const auto solve = [&](double bytes) {
    IdaStar search(ring, truth, {.search = {.weight = 1, .max_gib = bytes * kByte}});
    return search.Solve(ring.At(7), StopSignal());
  };
  EXPECT_TRUE(solve(7 * 36 + 60).solved);
  const SearchResult result = solve(7 * 36 + 59);
  EXPECT_EQ(result.stop_reason, StopReason::kMemoryLimit);
  EXPECT_EQ(result.stored, 7);
  EXPECT_EQ(result.bytes, 7 * 36);
}

TEST(IdaStar, LimitsOfLengthAndCostEndTheSearch) {
  const RingDomain ring(20);
  StandInEvaluator truth(&RingDomain::Estimate);
  const auto solve = [&](SearchConfig config) {
    config.weight = 1;
    IdaStar search(ring, truth, {.search = config});
    const SearchResult result = search.Solve(ring.At(7), StopSignal());
    EXPECT_EQ(result.solved, result.stop_reason == StopReason::kSolved);
    return std::pair(result.stop_reason, result.solved ? "" : search.Failure(result));
  };
  EXPECT_EQ(solve({.max_length = 7}).first, StopReason::kSolved);
  EXPECT_EQ(solve({.max_length = 6}),
            std::pair(StopReason::kLengthLimit,
                      std::string("no solution has at most 6 moves; raise search.max_length")));
  EXPECT_EQ(solve({.at_most = 7}).first, StopReason::kSolved);
  EXPECT_EQ(solve({.at_most = 6}).first, StopReason::kCostLimit);
  EXPECT_THAT(solve({.at_most = 6}).second, HasSubstr("search.at_most"));
  // Seven moves solve it, so it would be wrong to say that a solution has more than ten.
  EXPECT_EQ(solve({.max_length = 10, .at_most = 6}).first, StopReason::kCostLimit);
}

TEST(IdaStar, EndsIfNoPathLeadsToAGoal) {
  const RoadsDomain map({{0}, {2}, {1}}, {1});
  StandInEvaluator one([](std::span<const std::uint8_t>) { return 1.0F; });
  IdaStar search(map, one, {});
  const SearchResult result = search.Solve(State{1}, StopSignal());
  EXPECT_FALSE(result.solved);
  EXPECT_EQ(result.stop_reason, StopReason::kExhausted);
  EXPECT_THAT(search.Failure(result), HasSubstr("no solution"));
}

// The network takes the start, or all of its children, for dead ends.
TEST(IdaStar, InfiniteEstimatesAreNoProofThatThereIsNoSolution) {
  const RingDomain ring(20);
  for (const int distance : {7, 6}) {
    StandInEvaluator infinite([&](std::span<const std::uint8_t> state) {
      return RingDomain::Distance(state) == distance ? std::numeric_limits<float>::infinity()
                                                     : RingDomain::Estimate(state);
    });
    IdaStar search(ring, infinite, {.search = {.max_length = 100, .weight = 1}});
    const SearchResult result = search.Solve(ring.At(7), StopSignal());
    EXPECT_FALSE(result.solved);
    EXPECT_EQ(result.stop_reason, StopReason::kExhausted);
    EXPECT_THAT(search.Failure(result), HasSubstr("states with a finite estimate"));
  }
}

TEST(IdaStar, InfiniteEstimatesAreNamedBesideTheLimitOfLength) {
  const RingDomain ring(20);
  StandInEvaluator infinite([](std::span<const std::uint8_t> state) {
    return RingDomain::Distance(state) == 6 ? std::numeric_limits<float>::infinity()
                                            : RingDomain::Estimate(state);
  });
  IdaStar search(ring, infinite, {.search = {.max_length = 5, .weight = 1}});
  const SearchResult result = search.Solve(ring.At(7), StopSignal());
  EXPECT_EQ(search.Failure(result),
            "no solution leads only through states with a finite estimate and has at most 5 moves; "
            "raise search.max_length");
}

}  // namespace
}  // namespace tandem
