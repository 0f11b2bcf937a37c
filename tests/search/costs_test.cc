// Tests of costs, and of searches and walks with unequal action costs, compared with Dijkstra's
// algorithm.
#include "search/costs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/random.h"
#include "domain/random_walks.h"
#include "support/head_evaluator.h"
#include "support/path_domain.h"
#include "support/searches.h"
#include "support/small_puzzles.h"
#include "support/stand_in_evaluator.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

// The least cost from `start` to every reachable state. In a maze every step can be undone at the
// same cost, so if `start` is a goal, these are the costs-to-go.
std::map<State, float, ByBytes> CostsFrom(const Domain& domain, const State& start) {
  std::map<State, float, ByBytes> costs = {{start, 0}};
  std::multimap<float, State> open = {{0, start}};
  while (!open.empty()) {
    const auto [cost, state] = *open.begin();
    open.erase(open.begin());
    if (cost > costs.at(state)) continue;
    for (int a = 0; a < domain.spec().num_actions(); ++a) {
      State child = After(domain, state, {static_cast<Action>(a)});
      const float through = cost + domain.spec().action_costs[static_cast<std::size_t>(a)];
      const auto [at, is_new] = costs.emplace(child, through);
      if (!is_new && at->second <= through) continue;
      at->second = through;
      open.emplace(through, std::move(child));
    }
  }
  return costs;
}

class UnequalCosts : public testing::TestWithParam<int> {
 protected:
  UnequalCosts() : goal_(100) {
    const auto seed = static_cast<std::uint64_t>(GetParam());
    maze_->DrawGoals(Rows(std::span(goal_)), {&seed, 1});
    costs_ = CostsFrom(*maze_, goal_);
  }

  const std::unique_ptr<const Domain> maze_ = MakeDomain("grid:10");
  State goal_;
  std::map<State, float, ByBytes> costs_;
};

TEST_P(UnequalCosts, AStarFindsCheapestSolutions) {
  StandInEvaluator ignorant([](std::span<const std::uint8_t>) { return 0.0F; });
  AStar search(*maze_, ignorant, {.search = {.weight = 1, .batch = 1}});
  for (const auto& [state, cost] : costs_) {
    const SearchResult result = search.Solve(state, StopSignal());
    ASSERT_TRUE(result.solved);
    EXPECT_TRUE(Solves(*maze_, state, result.actions));
    EXPECT_NEAR(result.cost, cost, 1e-4);
    EXPECT_FLOAT_EQ(result.cost, CostOf(maze_->spec(), result.actions));
  }
}

// With exact estimates, a beam of width 1 follows a cheapest path only if it adds action costs.
TEST_P(UnequalCosts, BeamOfOneFollowsExactEstimates) {
  StandInEvaluator truth([&](std::span<const std::uint8_t> state) {
    return costs_.at(State(state.begin(), state.end()));
  });
  BeamSearch search(*maze_, truth, {.search = {.beam_width = 1}});
  for (const auto& [state, cost] : costs_) {
    const SearchResult result = search.Solve(state, StopSignal());
    ASSERT_TRUE(result.solved);
    EXPECT_NEAR(result.cost, cost, 1e-4);
  }
}

TEST_P(UnequalCosts, WalkCostBackIsAnUpperBound) {
  for (std::uint64_t i = 0; i < 50; ++i) {
    RandomWalks walks(*maze_);
    const Random random(GetParam(), Purpose::kScramble, 0, i);
    walks.Begin({&random, 1}, std::vector<std::int64_t>{30});
    const auto state = [&] { return State(walks.state(0).begin(), walks.state(0).end()); };
    const auto costs = CostsFrom(*maze_, state());  // each walk has its own maze
    for (int step = 0; walks.Step(); ++step) {
      EXPECT_GE(walks.cost_back(0), costs.at(state()) - 1e-4);
      EXPECT_LE(walks.cost_back(0), 1.4143F * static_cast<float>(step + 1));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Mazes, UnequalCosts, testing::Range(1, 6));

// A marker on a line of cells, with a cost of 0.1 for each step.
class LineDomain final : public Domain {
 public:
  LineDomain()
      : Domain({.name = "line",
                .summary = "for tests",
                .state_size = 2,
                .input = {.positions = 2, .depth = 256},
                .action_names = {"l", "r"},
                .inverse_actions = {1, 0},
                .action_costs = {0.1F, 0.1F},
                .masks_actions = true}) {}

  static State At(int cell) {
    return {static_cast<std::uint8_t>(cell / 256), static_cast<std::uint8_t>(cell % 256)};
  }
  static int CellOf(std::span<const std::uint8_t> state) { return 256 * state[0] + state[1]; }

  void WriteGoals(Rows states) const override { std::ranges::fill(states.bytes(), 0); }
  void Apply(Rows states, std::span<const Action> actions) const override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      const int cell = CellOf(states[i]);
      if (cell > 0 || actions[i] == 1) {
        std::ranges::copy(At(cell + (actions[i] == 0 ? -1 : 1)), states[i].begin());
      }
    }
  }
  void IsGoal(ConstRows states, std::span<std::uint8_t> is_goal) const override {
    for (std::size_t i = 0; i < states.size(); ++i) is_goal[i] = CellOf(states[i]) == 0 ? 1 : 0;
  }
  void ParseState(std::string_view text, std::span<std::uint8_t> state) const override {
    std::ranges::copy(At(std::stoi(std::string(text))), state.begin());
  }
  std::string FormatState(std::span<const std::uint8_t> state) const override {
    return std::to_string(CellOf(state));
  }
};

// As a sum of floats, 3,000 times 0.1 is 300.009.
TEST(Costs, AllowedCostHoldsForThousandsOfMoves) {
  const LineDomain line;
  class Exact final : public HeadEvaluator {
   public:
    Exact() : HeadEvaluator(Head::kQ) {}
    void Evaluate(ConstRows inputs, std::span<float> values) override {
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        values[i] = 0.1F * static_cast<float>(LineDomain::CellOf(inputs[i]));
      }
    }
    void EvaluateActions(ConstRows inputs, std::span<float> values) override {
      for (std::size_t i = 0; i < values.size(); ++i) {
        const int cell = LineDomain::CellOf(inputs[i / 2]);
        values[i] = 0.1F * static_cast<float>(i % 2 == 0 ? std::max(cell, 1) : cell + 2);
      }
    }
  };
  Exact exact;
  const Config enough{.search = {.max_length = 4000, .weight = 1, .batch = 1, .at_most = 300}};
  std::vector<std::unique_ptr<Search>> searches;
  searches.push_back(std::make_unique<AStar>(line, exact, enough));
  searches.push_back(std::make_unique<QStar>(line, exact, enough));
  searches.push_back(std::make_unique<IdaStar>(line, exact, enough));
  searches.push_back(std::make_unique<BeamSearch>(line, exact, enough));
  searches.push_back(std::make_unique<GreedySearch>(line, exact, enough));
  for (const auto& search : searches) {
    const SearchResult result = search->Solve(LineDomain::At(3000), StopSignal());
    EXPECT_TRUE(result.solved) << search->Describe();
    EXPECT_EQ(result.cost, 300) << search->Describe();
  }
  Config too_little = enough;
  too_little.search.at_most = 299.9;
  EXPECT_EQ(AStar(line, exact, too_little).Solve(LineDomain::At(3000), StopSignal()).stop_reason,
            StopReason::kCostLimit);
}

// Pushes cannot be undone, so walks go backwards from a goal. Their states must be solvable.
TEST(Costs, SokobanWalksCanBeSolvedAtTheirCostBack) {
  const auto sokoban = MakeDomain("sokoban:7");
  State state(49);
  int unsolved = 0;
  for (std::uint64_t i = 0; i < 30; ++i) {
    const float cost_back = WalkFromGoal(*sokoban, Random(1, Purpose::kScramble, 0, i), 8, state);
    const std::vector<Action> way = ShortestWay(*sokoban, state, 8);
    EXPECT_TRUE(Solves(*sokoban, state, way));
    EXPECT_LE(static_cast<float>(way.size()), cost_back);
    unsolved += way.empty() ? 0 : 1;
  }
  EXPECT_GT(unsolved, 20);
}

DomainSpec TwoActionsOfCosts(float first, float second) {
  DomainSpec spec = PathDomain(9).spec();
  spec.action_costs = {first, second};
  return spec;
}

TEST(Costs, BestActionRanksNegativeEstimatesAsTheyAre) {
  const DomainSpec spec = TwoActionsOfCosts(2, 1);
  const std::vector<Action> both = {0, 1};
  EXPECT_EQ(BestBy(Ranking::kByStates, spec, both, std::vector<float>{-3, -1}), Action{0});
  EXPECT_EQ(BestBy(Ranking::kByStates, spec, both, std::vector<float>{4, 5}),
            Action{0});  // ties: the first
  EXPECT_EQ(BestBy(Ranking::kByStates, spec, both, std::vector<float>{5, 5}), Action{1});
  EXPECT_EQ(BestBy(Ranking::kByStates, spec, {}, std::vector<float>{5, 5}), std::nullopt);
}

TEST(Costs, NegativeEstimatesCountAsZero) {
  EXPECT_EQ(CostToGo(-3), 0);
  EXPECT_EQ(CostToGo(3), 3);
}

TEST(Costs, CostBelowLeavesOutOneActionIfAllCostTheSame) {
  EXPECT_EQ(CostBelow(TwoActionsOfCosts(2, 2), 6), 4);
  EXPECT_EQ(CostBelow(TwoActionsOfCosts(2, 2), 2), 0);
  const float below = CostBelow(TwoActionsOfCosts(2, 1), 6);
  EXPECT_LT(below, 6);
  EXPECT_GT(below, 5.9F);
}

}  // namespace
}  // namespace tandem
