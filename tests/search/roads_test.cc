// Tests of all searches on maps whose roads have different costs, meet and end.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "search/best_first_search.h"
#include "search/greedy_search.h"
#include "support/head_evaluator.h"
#include "support/roads_domain.h"
#include "support/searches.h"
#include "support/stand_in_evaluator.h"

namespace tandem {
namespace {

using Actions = std::vector<Action>;
using City = std::vector<std::uint8_t>;

const City kStart = {1};

// Returns the given estimate of each city.
StandInEvaluator Estimates(std::vector<float> by_city) {
  return StandInEvaluator([by_city = std::move(by_city)](std::span<const std::uint8_t> city) {
    return by_city.at(city[0]);
  });
}

SearchResult SolveByAStar(const RoadsDomain& map, std::vector<float> estimates) {
  StandInEvaluator evaluator = Estimates(std::move(estimates));
  return AStar(map, evaluator, {.search = {.weight = 1, .batch = 1}}).Solve(kStart, StopSignal());
}

TEST(AStarOnRoads, CityReachedAtTwoCostsIsExpandedOnce) {
  const RoadsDomain map({{0, 0}, {2, 3}, {3, 2}, {3, 3}}, {1, 5});
  const SearchResult result = SolveByAStar(map, {0, 0, 0, 10});
  EXPECT_EQ(result.stop_reason, StopReason::kExhausted);
  EXPECT_EQ(result.stored, 3);
  EXPECT_EQ(result.expanded, 3);
}

// If the order does not depend on costs, a cheaper path is no reason to expand a city again.
TEST(AStarOnRoads, WeightZeroReopensNothing) {
  const RoadsDomain map({{0, 0}, {2, 3}, {3, 2}, {3, 3}}, {1, 5});
  StandInEvaluator evaluator = Estimates({0, 0, 1, 0});
  const SearchResult result =
      AStar(map, evaluator, {.search = {.weight = 0, .batch = 1}}).Solve(kStart, StopSignal());
  EXPECT_EQ(result.stop_reason, StopReason::kExhausted);
  EXPECT_EQ(result.expanded, 3);
}

TEST(AStarOnRoads, MemoryIncludesTheOpenList) {
  const RoadsDomain map({{0}, {2}, {2}}, {1});
  NodeTable nodes(1);
  nodes.Add(kStart, HashState(kStart), {}, 0);
  EXPECT_GT(SolveByAStar(map, {0, 1, 1}).bytes, static_cast<std::int64_t>(nodes.bytes()));
}

// Two roads lead from one city to the next. The second one is cheaper.
TEST(AStarOnRoads, NewCityIsOpenedOnlyOnceEvaluated) {
  const RoadsDomain map({{0, 0, 0}, {2, 2, 3}, {2, 2, 2}, {3, 0, 3}}, {3, 1, 2});
  const SearchResult result = SolveByAStar(map, {0, 0, 100, 0});
  EXPECT_EQ(result.actions, (Actions{2, 1}));
  EXPECT_EQ(result.expanded, 2);  // city 2 is not expanded
}

TEST(AStarOnRoads, IgnoresPathsNoCheaperThanTheSolution) {
  const RoadsDomain through({{0, 0}, {2, 0}, {2, 0}}, {1, 2});
  const SearchResult result = SolveByAStar(through, {0, 0, 1});
  EXPECT_EQ(result.actions, (Actions{1}));
  EXPECT_EQ(result.expanded, 1);
  const RoadsDomain beside({{0, 0}, {0, 2}, {2, 0}}, {2, 2});
  EXPECT_EQ(SolveByAStar(beside, {0, 0, 1}).stored, 1);  // the start
}

// Cities whose roads all lead back to themselves.
RoadsDomain::Roads WithoutRoads(std::size_t cities, std::size_t actions) {
  RoadsDomain::Roads roads;
  roads.reserve(cities);
  for (std::size_t city = 0; city < cities; ++city) {
    roads.emplace_back(actions, static_cast<std::uint8_t>(city));
  }
  return roads;
}

// The search takes three cities at a time. City 2 is first reached at cost 8, and leads to the
// goal. In the same step, city 3 leads to city 2 at cost 3, which makes that solution cheaper than
// the one through city 4, at cost 6.
TEST(AStarOnRoads, KeepsTheSolutionThatBecameCheaperInTheSameStep) {
  RoadsDomain::Roads roads = WithoutRoads(5, 4);
  roads[1] = {3, 1, 4, 2};
  roads[2][0] = 0;
  roads[3][1] = 2;
  roads[4][1] = 0;
  const RoadsDomain map(roads, {1, 2, 4, 8});
  // The estimate of city 2 is too high to go there again.
  StandInEvaluator evaluator = Estimates({0, 0, 6.5F, 14, 12});
  const SearchResult result =
      AStar(map, evaluator, {.search = {.weight = 1, .batch = 3}}).Solve(kStart, StopSignal());
  EXPECT_EQ(result.stop_reason, StopReason::kSolved);
  EXPECT_EQ(result.cost, 1 + 2 + 1);
}

// Each of cities 2 to 61 costs less than the one before, and has an estimate that is so much higher
// that it is expanded later. All of them lead to the same 60 cities, which are therefore opened
// again and again, but never expanded.
TEST(AStarOnRoads, MemoryLimitHoldsIfStatesAreOpenedAgain) {
  constexpr std::size_t kCities = 60;
  RoadsDomain::Roads roads = WithoutRoads(2 + 2 * kCities, kCities);
  std::vector<float> estimates(roads.size(), 1000);
  std::vector<float> costs;
  costs.reserve(kCities);
  for (std::size_t i = 0; i < kCities; ++i) {
    roads[1][i] = static_cast<std::uint8_t>(2 + i);
    for (std::size_t to = 0; to < kCities; ++to) {
      roads[2 + i][to] = static_cast<std::uint8_t>(2 + kCities + to);
    }
    estimates[2 + i] = 2 * static_cast<float>(i);
    costs.push_back(static_cast<float>(kCities - i));
  }
  const RoadsDomain map(roads, costs);
  StandInEvaluator evaluator = Estimates(estimates);
  constexpr std::int64_t kMostBytes = 20'000;
  const SearchResult result =
      AStar(map, evaluator,
            {.search = {.weight = 1, .batch = 1, .max_gib = double(kMostBytes) / (1 << 30)}})
          .Solve(kStart, StopSignal());
  EXPECT_EQ(result.stop_reason, StopReason::kMemoryLimit);
  EXPECT_LE(result.bytes, kMostBytes);
  EXPECT_GT(result.bytes, kMostBytes / 2);
}

TEST(AStarOnRoads, NegativeEstimatesCountAsZero) {
  const RoadsDomain map({{0}, {2}, {2}}, {1});
  const SearchResult result = SolveByAStar(map, {0, -3, -7});
  ASSERT_TRUE(result.best.has_value());
  EXPECT_EQ(result.best->estimate, 0);
}

TEST(BeamOnRoads, TakesTheCheapestGoalAndOnTiesTheFirst) {
  StandInEvaluator zero = Estimates({0, 0});
  const RoadsDomain unequal({{0, 0, 0}, {0, 0, 0}}, {3, 1, 2});
  EXPECT_EQ(BeamSearch(unequal, zero, {}).Solve(kStart, StopSignal()).actions, (Actions{1}));
  const RoadsDomain equal({{0, 0}, {0, 0}}, {2, 2});
  EXPECT_EQ(BeamSearch(equal, zero, {}).Solve(kStart, StopSignal()).actions, (Actions{0}));
}

// City 2 is near the start and far from the goal. City 3 is far from the start and near the goal.
TEST(BeamOnRoads, GoalIsChosenByTotalPathCost) {
  StandInEvaluator zero = Estimates({0, 0, 0, 0});
  const RoadsDomain map({{0, 0, 0}, {2, 3, 1}, {2, 2, 0}, {0, 3, 3}}, {1, 4, 2});
  const SearchResult result = BeamSearch(map, zero, {}).Solve(kStart, StopSignal());
  EXPECT_EQ(result.actions, (Actions{0, 2}));
  EXPECT_EQ(result.cost, 3);
}

TEST(BeamOnRoads, KeepsTheCheapestRoadToACity) {
  StandInEvaluator zero = Estimates({0, 0, 0});
  const RoadsDomain map({{0, 0}, {2, 2}, {0, 0}}, {5, 1});
  const SearchResult result = BeamSearch(map, zero, {}).Solve(kStart, StopSignal());
  EXPECT_EQ(result.actions, (Actions{1, 1}));
  EXPECT_EQ(result.cost, 2);
}

// The beam of width 2 first holds city 2 (path cost 1) and city 3 (path cost 3). Their children are
// 4 and 5, and 6 and 7. Cities 6 and 7 have lower estimates but higher path costs. Only city 5
// leads to the goal.
const RoadsDomain::Roads kTwoSides = {{0, 0}, {2, 3}, {4, 5}, {6, 7},
                                      {4, 4}, {0, 5}, {6, 6}, {7, 7}};
const std::vector<float> kAhead = {0, 0, 0, 0, 5, 3.5, 4, 3};
const std::vector<float> kCosts = {1, 3};

TEST(BeamOnRoads, RanksByPathCostPlusEstimate) {
  const RoadsDomain map(kTwoSides, kCosts);
  StandInEvaluator ahead = Estimates(kAhead);
  BeamSearch search(map, ahead, {.search = {.beam_width = 2}});
  EXPECT_EQ(search.Solve(kStart, StopSignal()).actions, (Actions{0, 1, 0}));
}

TEST(BeamOnRoads, BeamThatHoldsAllChildrenEvaluatesNone) {
  const RoadsDomain map({{0, 0}, {2, 3}, {0, 2}, {3, 3}}, {1, 1});
  StandInEvaluator never([](std::span<const std::uint8_t>) -> float { throw 1; });
  BeamSearch search(map, never, {.search = {.beam_width = 2}});
  EXPECT_EQ(search.Solve(kStart, StopSignal()).actions, (Actions{0, 0}));
  StopSignal stop;
  stop.Request();
  EXPECT_THROW(search.Solve(kStart, stop), Stopped);
}

TEST(BeamOnRoads, ForgetsThePreviousSearch) {
  const RoadsDomain map(kTwoSides, kCosts);
  StandInEvaluator ahead = Estimates(kAhead);
  BeamSearch search(map, ahead, {.search = {.beam_width = 1, .max_length = 2}});
  EXPECT_TRUE(search.Solve(kStart, StopSignal()).best.has_value());
  const SearchResult dead_end = search.Solve(City{4}, StopSignal());
  EXPECT_EQ(dead_end.stop_reason, StopReason::kExhausted);
  EXPECT_FALSE(dead_end.best.has_value());
}

// The Q values that follow from estimates of the cities: road cost plus estimate of the city.
class OfRoads final : public HeadEvaluator {
 public:
  OfRoads(RoadsDomain::Roads roads, std::vector<float> action_costs, std::vector<float> by_city)
      : HeadEvaluator(Head::kQ),
        roads_(std::move(roads)),
        costs_(std::move(action_costs)),
        by_city_(std::move(by_city)) {}

  void Evaluate(ConstRows /*inputs*/, std::span<float> /*values*/) override { FAIL(); }

  void EvaluateActions(ConstRows inputs, std::span<float> values) override {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t action = i % costs_.size();
      values[i] = costs_[action] + by_city_[roads_[inputs[i / costs_.size()][0]][action]];
    }
  }

 private:
  const RoadsDomain::Roads roads_;
  const std::vector<float> costs_, by_city_;
};

TEST(QBeamOnRoads, RanksByPathCostPlusQValue) {
  const RoadsDomain map(kTwoSides, kCosts);
  OfRoads ahead(kTwoSides, kCosts, kAhead);
  BeamSearch search(map, ahead, {.search = {.beam_width = 2}});
  EXPECT_EQ(search.Solve(kStart, StopSignal()).actions, (Actions{0, 1, 0}));
}

// Of the best three roads, one does not apply and two lead to the same city. The beam of width 2
// must hold one more city.
TEST(QBeamOnRoads, BeamHoldsNoCityTwice) {
  const RoadsDomain::Roads roads = {{0, 0, 0, 0}, {1, 2, 2, 3}, {2, 2, 2, 2}, {0, 3, 3, 3}};
  const std::vector<float> costs = {1, 1, 1, 1};
  const RoadsDomain map(roads, costs);
  OfRoads ahead(roads, costs, {0, 0, 1, 2});
  BeamSearch search(map, ahead, {.search = {.beam_width = 2}});
  EXPECT_EQ(search.Solve(kStart, StopSignal()).actions, (Actions{3, 0}));
}

std::optional<std::int64_t> StepsOfDescent(const RoadsDomain& map, Evaluator& network) {
  const std::int64_t most = 10;
  return DescendGreedily(map, network, 4096, ConstRows(std::span(kStart)), {&most, 1}, StopSignal())
      .front();
}

std::optional<std::int64_t> StepsOfDescent(const RoadsDomain& map, std::vector<float> estimates) {
  StandInEvaluator evaluator = Estimates(std::move(estimates));
  return StepsOfDescent(map, evaluator);
}

// City 2 leads to the goal; city 3 is a dead end.
TEST(DescentOnRoads, AddsActionCostsAndTakesTheFirstOnTies) {
  const RoadsDomain::Roads roads = {{0, 0}, {2, 3}, {0, 2}, {3, 3}};
  EXPECT_EQ(StepsOfDescent(RoadsDomain(roads, {1, 3}), {0, 0, 3, 2}), 2);
  EXPECT_EQ(StepsOfDescent(RoadsDomain(roads, {1, 3}), {0, 0, 3, 0.5}), std::nullopt);
  EXPECT_EQ(StepsOfDescent(RoadsDomain(roads, {1, 1}), {0, 0, 3, 3}), 2);
}

// City 2 leads to the goal; city 3 is a dead end. OfRoads fails if it has to estimate a city.
TEST(DescentOnRoads, FollowsQValuesAndEstimatesNoCity) {
  const RoadsDomain::Roads roads = {{0, 0}, {2, 3}, {0, 2}, {3, 3}};
  const std::vector<float> costs = {1, 3};
  OfRoads right(roads, costs, {0, 0, 3, 2});
  EXPECT_EQ(StepsOfDescent(RoadsDomain(roads, costs), right), 2);
  OfRoads wrong(roads, costs, {0, 0, 3, 0.5});
  EXPECT_EQ(StepsOfDescent(RoadsDomain(roads, costs), wrong), std::nullopt);
}

// City 2 is a dead end; city 3 leads to the goal. A sum of the road's cost and the estimate would
// be rounded to the same number for both.
TEST(GreedyStepsOnRoads, EstimatesThatDifferInTheirLastBitsDecide) {
  const RoadsDomain map({{0, 0}, {2, 3}, {2, 2}, {0, 3}}, {1, 1});
  const std::vector<float> estimates = {0, 0, std::nextafter(0.25F, 1.0F), 0.25F};
  StandInEvaluator network = Estimates(estimates);
  const SearchResult result = GreedySearch(map, network, {}).Solve(kStart, StopSignal());
  EXPECT_EQ(result.actions, (Actions{1, 0}));
  EXPECT_EQ(StepsOfDescent(map, estimates), 2);
  EXPECT_EQ(HintFor(map, network, kStart).action, Action{1});
}

TEST(GreedySearchOnRoads, ReportsTheEstimateOfTheBestCityUnrounded) {
  const RoadsDomain map({{0}, {2}, {2}}, {1});
  const float estimate = std::nextafter(0.25F, 1.0F);
  StandInEvaluator network = Estimates({0, 0, estimate});
  const SearchResult result = GreedySearch(map, network, {}).Solve(kStart, StopSignal());
  ASSERT_TRUE(result.best.has_value());
  EXPECT_EQ(result.best->estimate, estimate);
}

TEST(GreedySearchOnRoads, RoadsThatDoNotApplyAreNotEvaluated) {
  const RoadsDomain map({{0, 0}, {1, 2}, {0, 2}}, {1, 1});
  StandInEvaluator network = Estimates({0, std::numeric_limits<float>::quiet_NaN(), 1});
  const SearchResult result = GreedySearch(map, network, {}).Solve(kStart, StopSignal());
  EXPECT_EQ(result.actions, (Actions{1, 0}));
  EXPECT_EQ(result.nodes, 2);
}

}  // namespace
}  // namespace tandem
