// Tests of Q* on all states of small puzzles, compared with breadth-first search and with A*.
#include <gtest/gtest.h>
#include <oneapi/tbb/task_arena.h>

#include <functional>

#include "support/goal_ball.h"
#include "support/head_evaluator.h"
#include "support/path_domain.h"
#include "support/searches.h"
#include "support/small_puzzles.h"
#include "support/stand_in_evaluator.h"
#include "support/whole_puzzle.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using Estimate = std::function<float(std::span<const std::uint8_t>)>;

// A Q net whose values follow from an estimate of the children.
class StandInQNet final : public HeadEvaluator {
 public:
  StandInQNet(const Domain& domain, Estimate estimate)
      : HeadEvaluator(Head::kQ), domain_(domain), estimate_(std::move(estimate)) {}

  void Evaluate(ConstRows inputs, std::span<float> values) override {
    for (std::size_t i = 0; i < inputs.size(); ++i) values[i] = estimate_(inputs[i]);
  }

  void EvaluateActions(ConstRows inputs, std::span<float> values) override {
    evaluated += static_cast<std::int64_t>(inputs.size());
    const auto actions = static_cast<std::size_t>(domain_.spec().num_actions());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto action = static_cast<Action>(i % actions);
      const std::span<const std::uint8_t> state = inputs[i / actions];
      const State child = After(domain_, {state.begin(), state.end()}, {action});
      values[i] = domain_.spec().action_costs[action] + estimate_(child);
    }
  }

  std::int64_t evaluated = 0;  // states

 private:
  const Domain& domain_;
  const Estimate estimate_;
};

std::vector<SearchResult> SolveWhole(const Whole& whole, Evaluator& q_net, const Config& config) {
  QStar search(whole.domain, q_net, config);
  std::vector<SearchResult> results(whole.distances.size());
  search.SolveAll(whole.rows(), StopSignal(), [&](std::size_t number, SearchResult result) {
    results.at(number) = std::move(result);
  });
  return results;
}

Estimate Erratic(const Whole& whole) {
  return [&whole](std::span<const std::uint8_t> state) { return whole.Erratic(state); };
}

Estimate Exact(const Whole& whole) {
  return [&whole](std::span<const std::uint8_t> state) { return whole.Exact(state); };
}

class QStarIsOptimal : public testing::TestWithParam<std::pair<std::int64_t, std::int64_t>> {
 protected:
  static void Check(const Domain& domain) {
    const Whole whole(domain);
    for (const Estimate& estimate :
         {Erratic(whole), Exact(whole), Estimate([](auto) { return 0.0F; })}) {
      StandInQNet q_net(domain, estimate);
      const auto [batch, instances] = GetParam();
      ExpectSolutions(whole,
                      SolveWhole(whole, q_net,
                                 {.search = {.weight = 1, .batch = batch, .instances = instances}}),
                      1);
    }
  }
};

TEST_P(QStarIsOptimal, FromEveryStateOfPancakes) { Check(PancakeDomain(6)); }
TEST_P(QStarIsOptimal, FromEveryStateOfCycles) { Check(CycleDomain(6)); }
TEST_P(QStarIsOptimal, WithActionCostsOtherThanOne) { Check(PancakeDomain(5, 0.3F)); }

INSTANTIATE_TEST_SUITE_P(All, QStarIsOptimal,
                         testing::Values(std::pair(1, 1), std::pair(7, 50), std::pair(1000, 1000)),
                         [](const auto& info) {
                           return "batch" + std::to_string(info.param.first) + "_instances" +
                                  std::to_string(info.param.second);
                         });

TEST(QStar, WeightBelowOneBoundsTheCost) {
  const PancakeDomain pancakes(6);
  const Whole whole(pancakes);
  StandInQNet erratic(pancakes, Erratic(whole));
  for (const float weight : {0.2F, 0.6F}) {
    const Config config = {.search = {.weight = weight, .batch = 30, .instances = 1000}};
    ExpectSolutions(whole, SolveWhole(whole, erratic, config), 1 / weight);
  }
}

TEST(QStar, ExactValuesLeadStraightToTheGoal) {
  const PancakeDomain pancakes(6);
  const Whole whole(pancakes);
  StandInQNet exact(pancakes, Exact(whole));
  for (const SearchResult& result :
       SolveWhole(whole, exact, {.search = {.weight = 1, .batch = 1}})) {
    EXPECT_EQ(result.nodes, std::ssize(result.actions));  // A* makes 5 children of each state
  }
}

TEST(QStar, MakesAndEvaluatesFewerStatesThanAStar) {
  const CycleDomain cycles(6);
  const Whole whole(cycles);
  std::int64_t by_astar = 0;
  StandInEvaluator estimates([&](std::span<const std::uint8_t> state) {
    ++by_astar;
    return 0.5F * whole.Exact(state);
  });
  StandInQNet q_net(cycles, [&](auto state) { return 0.5F * whole.Exact(state); });
  const Config config = {.search = {.weight = 1, .batch = 1}};
  AStar astar(cycles, estimates, config);
  std::int64_t nodes_of_astar = 0;
  std::int64_t nodes = 0;
  for (std::size_t i = 0; i < whole.distances.size(); i += 5) {
    nodes_of_astar += astar.Solve(whole.rows()[i], StopSignal()).nodes;
    nodes += QStar(cycles, q_net, config).Solve(whole.rows()[i], StopSignal()).nodes;
  }
  EXPECT_LT(2 * nodes, nodes_of_astar);
  EXPECT_LT(2 * q_net.evaluated, by_astar);
}

TEST(QStar, ResultsDoNotDependOnInstancesOrThreads) {
  const PancakeDomain pancakes(6);
  const Whole whole(pancakes);
  StandInQNet erratic(pancakes, Erratic(whole));
  const auto solve = [&](std::int64_t instances, int threads) {
    tbb::task_arena arena(threads);
    return arena.execute([&] {
      return SolveWhole(whole, erratic,
                        {.search = {.weight = 0.8, .batch = 5, .instances = instances}});
    });
  };
  const std::vector<SearchResult> alone = solve(1, 1);
  const std::vector<SearchResult> together = solve(64, 4);
  for (std::size_t i = 0; i < alone.size(); ++i) {
    ASSERT_EQ(together[i].actions, alone[i].actions);
    ASSERT_EQ(together[i].nodes, alone[i].nodes);
    ASSERT_EQ(together[i].stored, alone[i].stored);
  }
}

TEST(QStar, EndsWhereNoStateIsAGoal) {
  const CycleDomain cycles(6);
  StandInQNet wild(cycles, [](std::span<const std::uint8_t> state) {
    return float(Random(HashState(state), Purpose::kShuffle).Below(6));
  });
  QStar search(cycles, wild, {.search = {.weight = 1, .batch = 1}});
  const State odd = {1, 0, 2, 3, 4, 5};
  const SearchResult result = search.Solve(odd, StopSignal());
  EXPECT_EQ(result.stop_reason, StopReason::kExhausted);
  EXPECT_EQ(result.stored, 360);
  ASSERT_TRUE(result.best.has_value());
  EXPECT_EQ(search.Failure(result),
            "the puzzle has no solution: none of the 360 reachable states is a goal");
}

TEST(QStar, RefusesMoreChildrenAtATimeThanItCanNumber) {
  const CycleDomain cycles(6);
  StandInQNet zero(cycles, [](std::span<const std::uint8_t>) { return 0.0F; });
  Config config = {.search = {.weight = 1, .batch = std::int64_t{1} << 31, .instances = 1}};
  EXPECT_NO_THROW(QStar(cycles, zero, config));
  config.search.instances = 2;
  EXPECT_THROW(QStar(cycles, zero, config), InputError);
  config.search.instances = 1;
  EXPECT_THROW(AStar(cycles, zero, config), InputError);  // it makes all children of a state
}

TEST(QStar, StoresNoMoreStatesThanTheLimit) {
  const CycleDomain cycles(6);
  StandInQNet zero(cycles, [](auto) { return 0.0F; });
  QStar search(cycles, zero, {.search = {.weight = 1, .batch = 10, .max_nodes = 50}});
  const SearchResult result = search.Solve(State{1, 0, 2, 3, 4, 5}, StopSignal());
  EXPECT_EQ(result.stop_reason, StopReason::kNodeLimit);
  EXPECT_EQ(result.stored, 50);
}

TEST(QStar, IgnoresActionsThatDoNotApply) {
  const PathDomain path(100);
  StandInQNet zero(path, [](auto) { return 0.0F; });
  QStar search(path, zero, {.search = {.weight = 1, .batch = 1}});
  const SearchResult result = search.Solve(State{99}, StopSignal());
  ASSERT_TRUE(result.solved);
  EXPECT_EQ(result.actions, std::vector<Action>(99, 0));
}

TEST(QStar, AStateOfTheBallEndsTheSearch) {
  const PancakeDomain pancakes(6);
  const Whole whole(pancakes);
  StandInQNet exact(pancakes, Exact(whole));
  const auto ball = BallOf(pancakes, 3);
  QStar search(pancakes, exact, {.search = {.weight = 1, .batch = 1}}, ball);
  for (std::size_t i = 0; i < whole.distances.size(); i += 7) {
    const std::span<const std::uint8_t> start = whole.rows()[i];
    const SearchResult result = search.Solve(start, StopSignal());
    ASSERT_EQ(result.cost, whole.Exact(start));
    ASSERT_TRUE(Solves(pancakes, {start.begin(), start.end()}, result.actions));
    ASSERT_LE(result.nodes, std::max(0.0F, result.cost - 3));
  }
}

}  // namespace
}  // namespace tandem
