
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <limits>

#include "base/random.h"
#include "domain/random_walks.h"
#include "support/erratic_evaluator.h"
#include "support/goal_ball.h"
#include "support/head_evaluator.h"
#include "support/path_domain.h"
#include "support/ring_domain.h"
#include "support/roads_domain.h"
#include "support/searches.h"
#include "support/small_puzzles.h"
#include "support/stand_in_evaluator.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<std::uint8_t> Scramble(const Domain& domain, int moves, std::uint64_t number = 0) {
  std::vector<std::uint8_t> state(static_cast<std::size_t>(domain.spec().state_size));
  WalkFromGoal(domain, Random(3, Purpose::kScramble, 0, number), moves, state);
  return state;
}

TEST(BeamSearch, WidthOneFollowsExactEstimates) {
  const RingDomain ring(100);
  StandInEvaluator truth(&RingDomain::Estimate);
  const State start = ring.At(37);
  BeamSearch search(ring, truth, {.search = {.beam_width = 1, .max_length = 100}});
  const SearchResult result = search.Solve(start, StopSignal());
  ASSERT_TRUE(result.solved);
  EXPECT_EQ(result.actions.size(), 37U);
  EXPECT_EQ(result.cost, 37.0F);
  EXPECT_EQ(result.stop_reason, StopReason::kSolved);
  EXPECT_EQ(result.nodes, 2 + 36);  // no step goes back
  EXPECT_EQ(result.expanded, 37);
  EXPECT_EQ(result.stored, 37);
  EXPECT_GT(result.bytes, 0);
  EXPECT_FALSE(result.best.has_value());
  EXPECT_TRUE(Solves(ring, start, result.actions));
}

TEST(BeamSearch, WideBeamFindsShortestSolutions) {
  const auto cube = MakeDomain("cube3");
  StandInEvaluator ignorant([](std::span<const std::uint8_t>) { return 0.0F; });
  BeamSearch search(*cube, ignorant, {.search = {.beam_width = 20'000, .max_length = 6}});
  const auto ball = MakeGoalBall(*cube, 4, MemoryConfig());
  for (std::uint64_t i = 0; i < 5; ++i) {
    const std::vector<std::uint8_t> start = Scramble(*cube, 4, i);
    const SearchResult result = search.Solve(start, StopSignal());
    ASSERT_TRUE(result.solved);
    EXPECT_EQ(result.cost, ball->CostOf(start));
    EXPECT_TRUE(Solves(*cube, start, result.actions));
    EXPECT_GT(result.nodes, 0);
  }
}

TEST(BeamSearch, GoalStateNeedsNoActions) {
  const auto cube = MakeDomain("cube3");
  StandInEvaluator never([](std::span<const std::uint8_t>) -> float { throw 1; });
  BeamSearch search(*cube, never, {.search = {.beam_width = 1, .max_length = 10}});
  const SearchResult result = search.Solve(Scramble(*cube, 0), StopSignal());
  EXPECT_TRUE(result.solved);
  EXPECT_TRUE(result.actions.empty());
  EXPECT_EQ(result.nodes, 0);
}

TEST(BeamSearch, GivesUpAtMaxLength) {
  const RingDomain ring(100);
  StandInEvaluator truth(&RingDomain::Estimate);
  const State start = ring.At(37);
  BeamSearch search(ring, truth, {.search = {.beam_width = 4, .max_length = 36}});
  const SearchResult result = search.Solve(start, StopSignal());
  EXPECT_FALSE(result.solved);
  EXPECT_EQ(result.stop_reason, StopReason::kLengthLimit);
  EXPECT_FALSE(result.best.has_value());  // the beam is never full, so nothing is evaluated
}

TEST(BeamSearch, AllowedCostBoundsTheSolution) {
  const RingDomain ring(100);
  StandInEvaluator truth(&RingDomain::Estimate);
  const State start = ring.At(37);
  const auto solve = [&](double limit, const std::vector<float>& at_most) {
    BeamSearch search(ring, truth, {.search = {.beam_width = 4, .at_most = limit}});
    SearchResult only;
    search.SolveAll({ConstRows(std::span<const std::uint8_t>(start)), at_most}, StopSignal(),
                    [&](std::size_t, SearchResult result) { only = std::move(result); });
    return only;
  };
  EXPECT_TRUE(solve(37, {}).solved);
  EXPECT_TRUE(solve(0, {37}).solved);
  EXPECT_TRUE(solve(0, {0}).solved);
  for (const SearchResult& result : {solve(36, {}), solve(0, {36}), solve(36, {50})}) {
    EXPECT_FALSE(result.solved);
    EXPECT_EQ(result.stop_reason, StopReason::kCostLimit);
    EXPECT_EQ(result.expanded, 1 + 2 * 35);  // states at cost 36 are not kept
  }
  EXPECT_FALSE(solve(1e-50, {}).solved);  // rounded to a float, it is 0, but not unlimited
}

TEST(BeamSearch, AllowedCostHoldsForTheWayHomeFromTheBall) {
  const PancakeDomain pancakes(6);
  StandInEvaluator zero([](std::span<const std::uint8_t>) { return 0.0F; });
  const auto ball = BallOf(pancakes, 3);
  for (const auto& [start, distance] : Distances(pancakes)) {
    for (const int at_most : {distance - 1, distance}) {
      if (distance == 0 || at_most == 0) continue;  // 0 is no limit
      BeamSearch search(pancakes, zero,
                        {.search = {.beam_width = 1000, .at_most = double(at_most)}}, ball);
      const SearchResult result = search.Solve(start, StopSignal());
      ASSERT_EQ(result.solved, at_most == distance);
      ASSERT_EQ(result.stop_reason,
                at_most == distance ? StopReason::kSolved : StopReason::kCostLimit);
    }
  }
}

TEST(BeamSearch, EndsWhenNoNewStatesRemain) {
  // No state of this ring is a goal, because it has no marker.
  const RingDomain ring(6);
  StandInEvaluator zero([](std::span<const std::uint8_t>) { return 0.0F; });
  BeamSearch search(ring, zero, {.search = {.beam_width = 10, .max_length = 1'000'000}});
  const std::vector<std::uint8_t> empty(6, 0);
  const SearchResult result = search.Solve(empty, StopSignal());
  EXPECT_FALSE(result.solved);
  EXPECT_EQ(result.stop_reason, StopReason::kExhausted);
  EXPECT_EQ(result.nodes, 0);  // the actions change nothing
}

TEST(BeamSearch, FailureAsksForAWiderBeamOnlyIfABeamWasFull) {
  const RingDomain ring(100);
  StandInEvaluator truth(&RingDomain::Estimate);
  const auto failure = [&](const SearchConfig& config, const State& start) {
    BeamSearch search(ring, truth, {.search = config});
    return search.Failure(search.Solve(start, StopSignal()));
  };
  const State start = ring.At(37);
  EXPECT_EQ(failure({.beam_width = 4, .max_length = 36}, start),
            "no solution of at most 36 moves found, and wider beams would find none; raise "
            "search.max_length");
  EXPECT_EQ(failure({.beam_width = 1, .max_length = 36}, start),
            "no solution of at most 36 moves found with beam width 1; raise search.max_length or "
            "search.beam_width");
  EXPECT_THAT(failure({.beam_width = 4, .at_most = 36}, start),
              HasSubstr("found, and wider beams would find none; raise the limit"));
  EXPECT_THAT(failure({.beam_width = 1, .at_most = 36}, start),
              HasSubstr("found with beam width 1; raise the limit or search.beam_width"));
  EXPECT_EQ(failure({.beam_width = 4}, State(100, 0)),
            "the puzzle has no solution: no state that can be reached is a goal");
}

TEST(BeamSearch, FailedSearchReportsTheLeastEstimate) {
  const CycleDomain cycles(6);
  float least = 1000;
  StandInEvaluator anything([&](std::span<const std::uint8_t> state) {
    least = std::min(least, NumberOf(state));
    return NumberOf(state);
  });
  BeamSearch search(cycles, anything, {.search = {.beam_width = 5, .max_length = 20}});
  const State odd = {1, 0, 2, 3, 4, 5};
  const SearchResult result = search.Solve(odd, StopSignal());
  EXPECT_FALSE(result.solved);
  ASSERT_TRUE(result.best.has_value());
  EXPECT_EQ(result.best->estimate, least);
  EXPECT_EQ(result.best->cost, float(result.best->actions.size()));
  EXPECT_EQ(NumberOf(After(cycles, odd, result.best->actions)), least);
}

TEST(BeamSearch, DropsChildrenEqualToTheirParent) {
  const PathDomain path(3);
  StandInEvaluator away(
      [](std::span<const std::uint8_t> state) { return -static_cast<float>(state[0]); });
  BeamSearch search(path, away, {.search = {.beam_width = 1, .max_length = 10}});
  const std::vector<std::uint8_t> start = {1};
  const std::vector<std::uint8_t> far_end = {2};
  EXPECT_EQ(search.Solve(start, StopSignal()).actions, (std::vector<Action>{0}));
  EXPECT_EQ(search.Solve(far_end, StopSignal()).actions, (std::vector<Action>{0, 0}));
}

TEST(BeamSearch, EndsAtItsTimeLimit) {
  const auto cube = MakeDomain("cube3");
  StandInEvaluator zero([](std::span<const std::uint8_t>) { return 0.0F; });
  BeamSearch search(*cube, zero,
                    {.search = {.beam_width = 8, .max_length = 1'000'000, .max_seconds = 0.05}});
  const SearchResult result = search.Solve(Scramble(*cube, 20), StopSignal());
  EXPECT_FALSE(result.solved);
  EXPECT_EQ(result.stop_reason, StopReason::kTimeLimit);
  EXPECT_GE(result.seconds, 0.05);
}

TEST(BeamSearch, TheTimeLimitEndsADepthBetweenItsBatches) {
  const PancakeDomain pancakes(7);
  SlowOnceEvaluator slow(1, std::chrono::milliseconds(200),
                         [](std::span<const std::uint8_t>) { return 0.0F; });
  Config config;
  config.inference.batch_size = 1;
  config.search.beam_width = 1;
  config.search.max_seconds = 0.2;
  const State start = {6, 3, 5, 1, 4, 2, 0};
  const SearchResult result = BeamSearch(pancakes, slow, config).Solve(start, StopSignal());
  EXPECT_EQ(result.stop_reason, StopReason::kTimeLimit);
  EXPECT_LE(slow.rows(), 1);  // of the six children of the first state
}

TEST(BeamSearch, RefusesAWidthWithMoreChildrenThanItCanNumber) {
  const auto cube = MakeDomain("cube3_htm");
  StandInEvaluator ignorant([](std::span<const std::uint8_t>) { return 0.0F; });
  const Config config{.search = {.beam_width = std::int64_t{1} << 28}};
  EXPECT_THAT([&] { BeamSearch(*cube, ignorant, config); },
              ThrowsMessage<InputError>(HasSubstr("search.beam_width: 268435456, expected at most "
                                                  "238609294 with 18 actions")));
}

// Returns the exact Q values.
class TrueActions final : public HeadEvaluator {
 public:
  explicit TrueActions(const Domain& domain)
      : HeadEvaluator(Head::kQ), domain_(domain), distances_(Distances(domain)) {}

  void Evaluate(ConstRows /*inputs*/, std::span<float> /*values*/) override { FAIL(); }

  void EvaluateActions(ConstRows inputs, std::span<float> values) override {
    const int num_actions = domain_.spec().num_actions();
    std::size_t at = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const State state(inputs[i].begin(), inputs[i].end());
      for (int a = 0; a < num_actions; ++a) {
        const State child = After(domain_, state, {static_cast<Action>(a)});
        values[at++] = 1.0F + static_cast<float>(distances_.at(child));
      }
    }
  }

 private:
  const Domain& domain_;
  const StateMap distances_;
};

TEST(BeamSearchByActions, WidthOneFollowsExactQValues) {
  const PancakeDomain pancakes(6);
  TrueActions truth(pancakes);
  BeamSearch search(pancakes, truth, {.search = {.beam_width = 1, .max_length = 10}});
  for (const auto& [state, distance] : Distances(pancakes)) {
    const SearchResult result = search.Solve(state, StopSignal());
    ASSERT_TRUE(result.solved);
    ASSERT_EQ(std::ssize(result.actions), distance);
    ASSERT_TRUE(Solves(pancakes, state, result.actions));
  }
}

// The actions that undo the last ones are left out, so they take no places.
TEST(BeamSearchByActions, BeamWithRoomForAllNewStatesKeepsAll) {
  const RingDomain ring(100);
  ErraticEvaluator anything(Head::kQ);
  BeamSearch search(ring, anything, {.search = {.beam_width = 2, .max_length = 30}});
  EXPECT_FALSE(search.Solve(ring.At(50), StopSignal()).dropped_states);
}

TEST(BeamSearchByActions, FailedSearchReportsTheLeastEstimate) {
  const PancakeDomain pancakes(6);
  TrueActions truth(pancakes);
  BeamSearch search(pancakes, truth, {.search = {.beam_width = 3, .max_length = 2}});
  StateMap distances = Distances(pancakes);
  const auto farthest =
      std::ranges::max_element(distances, {}, [](const auto& entry) { return entry.second; });
  const SearchResult result = search.Solve(farthest->first, StopSignal());
  EXPECT_FALSE(result.solved);
  ASSERT_TRUE(result.best.has_value());
  EXPECT_EQ(result.best->estimate, static_cast<float>(farthest->second - 2));
  EXPECT_EQ(distances.at(After(pancakes, farthest->first, result.best->actions)),
            farthest->second - 2);
}

// Gives every state and every action the same value, and counts the calls of its methods.
class SameValue final : public HeadEvaluator {
 public:
  explicit SameValue(Head head) : HeadEvaluator(head) {}
  void Evaluate(ConstRows /*inputs*/, std::span<float> values) override {
    ++calls;
    std::ranges::fill(values, 1.0F);
  }
  void EvaluateActions(ConstRows /*inputs*/, std::span<float> values) override {
    ++calls_of_actions;
    std::ranges::fill(values, 2.0F);
  }
  int calls = 0, calls_of_actions = 0;
};

// Eight cities with two roads each, which cost 1 and 9.
RoadsDomain Cities() {
  return {{{0, 0}, {2, 3}, {4, 5}, {6, 7}, {4, 4}, {0, 5}, {6, 6}, {7, 7}}, {1, 9}};
}

// A policy on these cities.
class CityPolicy final : public HeadEvaluator {
 public:
  CityPolicy() : HeadEvaluator(Head::kPolicy) {}
  void Evaluate(ConstRows /*inputs*/, std::span<float> /*values*/) override { FAIL(); }
  void EvaluateActions(ConstRows inputs, std::span<float> values) override {
    static constexpr float kSurprisals[][2] = {{9, 9}, {0.1F, 2}, {1, 1.1F}, {0.1F, 3},
                                               {9, 9}, {1, 1},    {9, 9},    {9, 9}};
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = kSurprisals[inputs[i / 2][0]][i % 2];
    }
  }
};

// Each action of city 3 is more probable than those of city 2, but the paths through city 3 are
// less probable. The way to the goal is also more expensive.
TEST(BeamSearch, PolicyRanksByTheProbabilityOfTheWholePathAndNotByCost) {
  const RoadsDomain map = Cities();
  CityPolicy policy;
  const Config config{.search = {.beam_width = 2, .max_length = 5}};
  const std::uint8_t start[] = {1};
  const SearchResult result = MakeSearch(map, policy, config)->Solve(start, StopSignal());
  ASSERT_TRUE(result.solved);
  EXPECT_EQ(FormatActions(map.spec(), result.actions), "a b a");
  EXPECT_EQ(result.cost, 1 + 9 + 1);
}

TEST(BeamSearch, PolicyWithoutASolutionHasNoBestPath) {
  const RoadsDomain map = Cities();
  CityPolicy policy;
  const Config config{.search = {.beam_width = 1, .max_length = 9}};
  const std::uint8_t start[] = {1};
  const SearchResult result = MakeSearch(map, policy, config)->Solve(start, StopSignal());
  EXPECT_EQ(result.stop_reason,
            StopReason::kExhausted);  // it went to city 4, from which no road leads on
  EXPECT_FALSE(result.best.has_value());
}

// The same policy, by default with head vp: every city has the same estimate.
class CityValueAndPolicy final : public HeadEvaluator {
 public:
  explicit CityValueAndPolicy(Head head = Head::kVp) : HeadEvaluator(head) {}
  void Evaluate(ConstRows /*inputs*/, std::span<float> values) override {
    std::ranges::fill(values, 5.0F);
  }
  void EvaluateActions(ConstRows inputs, std::span<float> values) override {
    ++calls_of_actions;
    policy_.EvaluateActions(inputs, values);
  }

  int calls_of_actions = 0;

 private:
  CityPolicy policy_;
};

// From city 1, action a costs 1 and action b costs 9. The policy gives them the surprisals 9 and
// 0.1, so with equal estimates b ranks first if the policy's weight exceeds 8 / 8.9.
TEST(BeamSearch, PolicyWeightAddsTheSurprisalOfThePathToTheRank) {
  const RoadsDomain map = Cities();
  class Policy final : public HeadEvaluator {
   public:
    Policy() : HeadEvaluator(Head::kVp) {}
    void Evaluate(ConstRows /*inputs*/, std::span<float> values) override {
      std::ranges::fill(values, 5.0F);
    }
    void EvaluateActions(ConstRows inputs, std::span<float> values) override {
      ++calls;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        values[2 * i] = 9;
        values[2 * i + 1] = 0.1F;
      }
    }
    int calls = 0;
  };
  const auto first_action = [&](double policy_weight) {
    Policy network;
    const Config config{
        .search = {.beam_width = 1, .max_length = 1, .policy_weight = policy_weight}};
    const std::uint8_t start[] = {1};
    const SearchResult result = MakeSearch(map, network, config)->Solve(start, StopSignal());
    EXPECT_EQ(network.calls > 0, policy_weight > 0);
    EXPECT_FALSE(result.solved);
    return FormatActions(map.spec(), result.best->actions);
  };
  EXPECT_EQ(first_action(0), "a");
  EXPECT_EQ(first_action(0.8), "a");
  EXPECT_EQ(first_action(1), "b");
}

// With equal estimates and a large weight, the beam follows the policy alone: the expected solution
// is that of PolicyRanksByTheProbabilityOfTheWholePathAndNotByCost.
TEST(BeamSearch, LargePolicyWeightRanksByTheProbabilityOfTheWholePath) {
  const RoadsDomain map = Cities();
  const std::uint8_t start[] = {1};
  CityValueAndPolicy network;
  const Config config{.search = {.beam_width = 2, .max_length = 5, .policy_weight = 1000}};
  const SearchResult result = MakeSearch(map, network, config)->Solve(start, StopSignal());
  ASSERT_TRUE(result.solved);
  EXPECT_EQ(FormatActions(map.spec(), result.actions), "a b a");
  EXPECT_EQ(network.calls_of_actions, 3);  // once per depth
}

// The most probable action of city 1 leads to city 2, and that of city 2 to city 4, from which no
// road leads on.
TEST(BeamSearch, PolicyActionsLimitsTheActionsOfAState) {
  const RoadsDomain map = Cities();
  const std::uint8_t start[] = {1};
  Config config{.search = {.beam_width = 10, .max_length = 5, .policy_actions = 1}};
  for (const Head head : {Head::kVp, Head::kPolicy}) {
    CityValueAndPolicy network(head);
    config.search.policy_actions = 1;
    const auto search = MakeSearch(map, network, config);
    const SearchResult one = search->Solve(start, StopSignal());
    EXPECT_EQ(one.stop_reason, StopReason::kExhausted);
    EXPECT_EQ(one.nodes, 2);
    EXPECT_THAT(search->Failure(one), HasSubstr("search.policy_actions"));

    config.search.policy_actions = 2;
    const SearchResult both = MakeSearch(map, network, config)->Solve(start, StopSignal());
    ASSERT_TRUE(both.solved);
    EXPECT_EQ(FormatActions(map.spec(), both.actions), "a b a");
  }
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The actions of city 1 have the surprisals `first`. In the other cities, action b is the more
// probable one. The estimate of city 4 is minus infinity, and that of the others is 5.
class InfiniteValues final : public HeadEvaluator {
 public:
  InfiniteValues(Head head, std::array<float, 2> first) : HeadEvaluator(head), first_(first) {}
  void Evaluate(ConstRows inputs, std::span<float> values) override {
    for (std::size_t i = 0; i < inputs.size(); ++i) values[i] = inputs[i][0] == 4 ? -kInfinity : 5;
  }
  void EvaluateActions(ConstRows inputs, std::span<float> values) override {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const bool is_first = inputs[i][0] == 1;
      values[2 * i] = is_first ? first_[0] : 3;
      values[2 * i + 1] = is_first ? first_[1] : 0.1F;
    }
  }

 private:
  const std::array<float, 2> first_;
};

// A beam of one state keeps city 2. From there, action b leads on to the goal. Action a, which
// comes first, leads to city 4, from which no road leads on.
TEST(BeamSearch, PolicyRanksPathsAgainAfterAllKeptPathsWereImpossible) {
  const RoadsDomain map = Cities();
  const std::uint8_t start[] = {1};
  InfiniteValues network(Head::kPolicy, {kInfinity, kInfinity});
  const Config config{.search = {.beam_width = 1, .max_length = 5}};
  const SearchResult result = MakeSearch(map, network, config)->Solve(start, StopSignal());
  ASSERT_TRUE(result.solved);
  EXPECT_EQ(FormatActions(map.spec(), result.actions), "a b a");
}

// Without search.policy_weight, surprisals do not count, so the cheaper action b ranks first.
TEST(BeamSearch, PolicyActionsAloneRanksImpossiblePathsByCostAndEstimate) {
  const RoadsDomain map({{0, 0}, {2, 3}, {2, 2}, {3, 3}}, {9, 1});
  const std::uint8_t start[] = {1};
  InfiniteValues network(Head::kVp, {kInfinity, 0.1F});
  const Config config{.search = {.beam_width = 1, .max_length = 1, .policy_actions = 2}};
  const SearchResult result = MakeSearch(map, network, config)->Solve(start, StopSignal());
  EXPECT_EQ(FormatActions(map.spec(), result.best->actions), "b");
}

// Action a is impossible, and the city that it leads to has the least estimate.
TEST(BeamSearch, ImpossiblePathsRankLastWhateverTheirEstimate) {
  const RoadsDomain map({{0, 0}, {4, 3}, {2, 2}, {3, 3}, {4, 4}}, {1, 1});
  const std::uint8_t start[] = {1};
  InfiniteValues network(Head::kVp, {kInfinity, 0.1F});
  const Config config{.search = {.beam_width = 1, .max_length = 1, .policy_weight = 1}};
  const SearchResult result = MakeSearch(map, network, config)->Solve(start, StopSignal());
  EXPECT_EQ(FormatActions(map.spec(), result.best->actions), "b");
}

TEST(MakeSearch, SearchesDescribeThemselvesAndTheirMainKey) {
  const PancakeDomain pancakes(4);
  SameValue network(Head::kV);
  Config config{.search = {.beam_width = 2000, .weight = 0.5, .max_seconds = 20}};
  const auto description = [&](SearchMethod method) {
    config.search.method = method;
    const auto search = MakeSearch(pancakes, network, config);
    return search->Describe() + "; " + std::string(search->MainKey());
  };
  EXPECT_EQ(description(SearchMethod::kBeam), "beam search with width 2,000; search.beam_width");
  EXPECT_EQ(description(SearchMethod::kAStar), "A* with weight 0.5; search.weight");
  EXPECT_EQ(description(SearchMethod::kIdaStar), "IDA* with weight 0.5; search.weight");
  EXPECT_EQ(description(SearchMethod::kGreedy), "greedy search; ");
  EXPECT_EQ(description(SearchMethod::kBidirectionalBeam),
            "bidirectional beam search with width 2,000; search.beam_width");
  EXPECT_TRUE(description(SearchMethod::kAnytimeBeam)
                  .starts_with("anytime beam search with width 2,000 within "));
  config.search.inverse = UseInverse::kYes;
  EXPECT_EQ(description(SearchMethod::kBeam),
            "beam search with width 2,000 from the position and its inverse; search.beam_width");
}

TEST(MakeSearch, FollowsTheMethodAndWhatTheNetworkGives) {
  const PancakeDomain pancakes(4);
  const State start = {3, 1, 0, 2};
  Config config{.search = {.beam_width = 1, .max_seconds = 1000}};
  const auto calls_of_q_values = [&](SearchMethod method, Head head) {
    config.search.method = method;
    SameValue network(head);
    const auto search = MakeSearch(pancakes, network, config);
    EXPECT_EQ(search->Describe().starts_with("A* "), method == SearchMethod::kAStar);
    EXPECT_EQ(search->Describe().starts_with("anytime "), method == SearchMethod::kAnytimeBeam);
    search->Solve(start, StopSignal());
    EXPECT_GT(network.calls + network.calls_of_actions, 0);
    return network.calls_of_actions;
  };
  EXPECT_EQ(calls_of_q_values(SearchMethod::kAStar, Head::kV), 0);
  EXPECT_EQ(calls_of_q_values(SearchMethod::kAStar, Head::kQ), 0);
  EXPECT_EQ(calls_of_q_values(SearchMethod::kBeam, Head::kV), 0);
  EXPECT_EQ(calls_of_q_values(SearchMethod::kGreedy, Head::kV), 0);
  EXPECT_GT(calls_of_q_values(SearchMethod::kGreedy, Head::kQ), 0);
  EXPECT_GT(calls_of_q_values(SearchMethod::kGreedy, Head::kPolicy), 0);
  EXPECT_GT(calls_of_q_values(SearchMethod::kBeam, Head::kQ), 0);
  EXPECT_GT(calls_of_q_values(SearchMethod::kBeam, Head::kPolicy), 0);
  EXPECT_EQ(calls_of_q_values(SearchMethod::kAnytimeBeam, Head::kV), 0);
  for (const SearchMethod method :
       {SearchMethod::kBeam, SearchMethod::kAnytimeBeam, SearchMethod::kAStar}) {
    EXPECT_EQ(calls_of_q_values(method, Head::kVp), 0);
  }
  EXPECT_GT(calls_of_q_values(SearchMethod::kAnytimeBeam, Head::kQ), 0);
}

TEST(MakeSearch, RefusesNetworksThatDoNotGiveWhatTheSearchNeeds) {
  const PancakeDomain pancakes(4);
  const auto refusal = [&](SearchMethod method, Head head) -> std::string {
    SameValue network(head);
    try {
      MakeSearch(pancakes, network, {.search = {.method = method}});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal(SearchMethod::kAStar, Head::kPolicy),
            "A* needs an evaluator that estimates states, not a policy alone");
  EXPECT_EQ(refusal(SearchMethod::kIdaStar, Head::kPolicy),
            "IDA* needs an evaluator that estimates states, not a policy alone");
  EXPECT_EQ(refusal(SearchMethod::kQStar, Head::kV),
            "Q* needs an evaluator whose values of actions are Q values");
  EXPECT_EQ(refusal(SearchMethod::kQStar, Head::kVp),
            "Q* needs an evaluator whose values of actions are Q values");
  EXPECT_EQ(refusal(SearchMethod::kQStar, Head::kQ), "");
}

// The least that a program with a heuristic of its own has to write.
TEST(MakeSearch, TakesAHeuristicThatOnlyEstimatesStates) {
  class Heuristic final : public Evaluator {
   public:
    void Evaluate(ConstRows inputs, std::span<float> values) override {
      for (std::size_t i = 0; i < inputs.size(); ++i) values[i] = RingDomain::Estimate(inputs[i]);
    }
  } heuristic;
  const RingDomain ring(20);
  for (const SearchMethod method :
       {SearchMethod::kBeam, SearchMethod::kAnytimeBeam, SearchMethod::kAStar,
        SearchMethod::kIdaStar, SearchMethod::kGreedy}) {
    const auto search =
        MakeSearch(ring, heuristic, {.search = {.method = method, .max_seconds = 1000}});
    EXPECT_TRUE(search->Solve(ring.At(7), StopSignal()).solved) << search->Describe();
  }
}

}  // namespace
}  // namespace tandem
