// Tests of A* on all states of small puzzles, compared with breadth-first search.
#include <gtest/gtest.h>
#include <oneapi/tbb/task_arena.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <set>

#include "base/random.h"
#include "domain/random_walks.h"
#include "support/head_evaluator.h"
#include "support/path_domain.h"
#include "support/searches.h"
#include "support/small_puzzles.h"
#include "support/stand_in_evaluator.h"
#include "support/whole_puzzle.h"

namespace tandem {
namespace {

std::vector<SearchResult> SolveWhole(const Whole& whole, Evaluator& network, const Config& config) {
  AStar search(whole.domain, network, config);
  std::vector<SearchResult> results(whole.distances.size());
  std::size_t done = 0;
  search.SolveAll(whole.rows(), StopSignal(), [&](std::size_t number, SearchResult result) {
    results.at(number) = std::move(result);
    ++done;
  });
  EXPECT_EQ(done, results.size());
  return results;
}

struct Case {
  const char* estimates;
  std::int64_t batch;
  std::int64_t instances;
};

class AStarIsOptimal : public testing::TestWithParam<Case> {
 protected:
  float Estimate(const Whole& whole, std::span<const std::uint8_t> state) const {
    const std::string_view kind = GetParam().estimates;
    if (kind == "exact") return whole.Exact(state);
    if (kind == "erratic") return whole.Erratic(state);
    return kind == "zero" ? 0.0F : -3.0F;
  }

  void Check(const Domain& domain, float weight) {
    const Whole whole(domain);
    StandInEvaluator evaluator(
        [&](std::span<const std::uint8_t> state) { return Estimate(whole, state); });
    ExpectSolutions(whole,
                    SolveWhole(whole, evaluator,
                               {.search = {.weight = weight,
                                           .batch = GetParam().batch,
                                           .instances = GetParam().instances}}),
                    1);
  }
};

TEST_P(AStarIsOptimal, FromEveryStateOfPancakes) { Check(PancakeDomain(6), 1); }
TEST_P(AStarIsOptimal, FromEveryStateOfCycles) { Check(CycleDomain(6), 1); }
TEST_P(AStarIsOptimal, WithActionCostsOtherThanOne) { Check(PancakeDomain(5, 0.3F), 1); }
TEST_P(AStarIsOptimal, WithAWeightAboveOne) { Check(PancakeDomain(5), 2.5F); }

INSTANTIATE_TEST_SUITE_P(All, AStarIsOptimal,
                         testing::Values(Case{"exact", 1, 1}, Case{"exact", 7, 50},
                                         Case{"exact", 1000, 1000}, Case{"zero", 1, 1000},
                                         Case{"zero", 7, 1}, Case{"zero", 1000, 50},
                                         Case{"negative", 7, 50}, Case{"erratic", 1, 1},
                                         Case{"erratic", 1, 1000}, Case{"erratic", 7, 1},
                                         Case{"erratic", 7, 50}, Case{"erratic", 1000, 1},
                                         Case{"erratic", 1000, 1000}),
                         [](const auto& info) {
                           return std::string(info.param.estimates) + "_batch" +
                                  std::to_string(info.param.batch) + "_instances" +
                                  std::to_string(info.param.instances);
                         });

TEST(AStar, ReopensClosedStatesOnCheaperPaths) {
  // Without a solution, every state is expanded at least once. Random estimates make the search
  // reach some states by longer paths first.
  const CycleDomain cycles(6);
  StandInEvaluator wild([](std::span<const std::uint8_t> state) {
    return float(Random(HashState(state), Purpose::kShuffle).Below(6));
  });
  AStar search(cycles, wild, {.search = {.weight = 1, .batch = 1}});
  const SearchResult result = search.Solve(State{1, 0, 2, 3, 4, 5}, StopSignal());
  EXPECT_EQ(result.stop_reason, StopReason::kExhausted);
  EXPECT_EQ(result.stored, 360);
  EXPECT_GT(result.expanded, 360);
}

TEST(AStar, WeightBelowOneBoundsTheCost) {
  const PancakeDomain pancakes(6);
  const Whole whole(pancakes);
  StandInEvaluator erratic(
      [&](std::span<const std::uint8_t> state) { return whole.Erratic(state); });
  StandInEvaluator exact([&](std::span<const std::uint8_t> state) { return whole.Exact(state); });
  for (const float weight : {0.2F, 0.6F, 0.9F}) {
    for (const std::int64_t batch : {1, 30}) {
      const Config config = {.search = {.weight = weight, .batch = batch, .instances = 1000}};
      ExpectSolutions(whole, SolveWhole(whole, erratic, config), 1 / weight);
      ExpectSolutions(whole, SolveWhole(whole, exact, config), 1 / weight);
    }
  }
}

TEST(AStar, WeightZeroIsGreedy) {
  const PancakeDomain pancakes(6);
  const Whole whole(pancakes);
  StandInEvaluator exact([&](std::span<const std::uint8_t> state) { return whole.Exact(state); });
  const std::vector<SearchResult> results =
      SolveWhole(whole, exact, {.search = {.weight = 0, .batch = 1}});
  ExpectSolutions(whole, results, 1);  // exact estimates lead straight to the goal
  for (const SearchResult& result : results) {
    EXPECT_EQ(result.expanded, std::ssize(result.actions));
  }
  StandInEvaluator erratic(
      [&](std::span<const std::uint8_t> state) { return whole.Erratic(state); });
  ExpectSolutions(whole, SolveWhole(whole, erratic, {.search = {.weight = 0, .batch = 3}}), 1000);
}

// The exact cost-to-go, with a policy that ranks actions by that of their results, or the other way
// round.
class ExactPolicy final : public HeadEvaluator {
 public:
  ExactPolicy(const Whole& whole, float sign)
      : HeadEvaluator(Head::kVp), whole_(whole), sign_(sign) {}

  void Evaluate(ConstRows inputs, std::span<float> values) override {
    for (std::size_t i = 0; i < inputs.size(); ++i) values[i] = whole_.Exact(inputs[i]);
  }

  void EvaluateActions(ConstRows inputs, std::span<float> values) override {
    const auto num_actions = static_cast<std::size_t>(whole_.domain.spec().num_actions());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto row = inputs[i / num_actions];
      State child(row.begin(), row.end());
      const auto action = static_cast<Action>(i % num_actions);
      ApplyAll(whole_.domain, {&action, 1}, child);
      values[i] = sign_ * whole_.Exact(child);
    }
  }

 private:
  const Whole& whole_;
  const float sign_;
};

TEST(AStar, ExpandsOnlyTheMostProbableActions) {
  const PancakeDomain pancakes(6);
  const Whole whole(pancakes);
  ExactPolicy policy(whole, 1);
  const Config config = {.search = {.weight = 1, .policy_actions = 1, .batch = 1}};
  AStar search(pancakes, policy, config);
  search.SolveAll(whole.rows(), StopSignal(), [&](std::size_t number, const SearchResult& result) {
    const std::span<const std::uint8_t> start = whole.rows()[number];
    EXPECT_EQ(result.cost, whole.Exact(start));
    // One child of each state, and the goal beside the last one.
    EXPECT_EQ(result.nodes, result.actions.empty() ? 0 : std::ssize(result.actions) + 1);
  });
}

// The action away from the goal is the only one that the policy allows. The goal itself is found
// all the same, because the search makes it anyway.
TEST(AStar, WrongPolicyLeavesOutSolutionsButNoGoal) {
  const PancakeDomain pancakes(6);
  const Whole whole(pancakes);
  ExactPolicy wrong(whole, -1);
  const Config config = {.search = {.weight = 1, .policy_actions = 1, .batch = 1}};
  AStar search(pancakes, wrong, config);
  EXPECT_EQ(search.Solve(State{1, 0, 2, 3, 4, 5}, StopSignal()).actions.size(), 1U);
  std::size_t unsolved = 0;
  search.SolveAll(whole.rows(), StopSignal(), [&](std::size_t, const SearchResult& result) {
    if (result.solved) return;
    ++unsolved;
    EXPECT_EQ(search.Failure(result),
              "no solution consists of the 1 most probable actions of each state; raise "
              "search.policy_actions");
  });
  EXPECT_GT(unsolved, 0U);
}

TEST(AStar, PolicyActionsAreNamedIfTheAllowedCostEndsIt) {
  const PancakeDomain pancakes(6);
  const Whole whole(pancakes);
  ExactPolicy wrong(whole, -1);
  Config config = {.search = {.weight = 1, .policy_actions = 1, .batch = 1, .at_most = 2}};
  const auto failure = [&](const State& start) {
    AStar search(pancakes, wrong, config);
    const SearchResult result = search.Solve(start, StopSignal());
    EXPECT_EQ(result.stop_reason, StopReason::kCostLimit);
    return search.Failure(result);
  };
  const State start = After(pancakes, {0, 1, 2, 3, 4, 5}, {2, 4});
  EXPECT_EQ(failure(start),
            "no solution of the 1 most probable actions of each state costs at most what is "
            "allowed (search.at_most, or `at_most` or `solution` of the state); raise the limit or "
            "search.policy_actions");
  config.search.policy_actions = 0;
  config.search.at_most = 1;
  EXPECT_EQ(failure(start),
            "no solution costs at most what is allowed (search.at_most, or `at_most` or `solution` "
            "of the state); raise the limit");
}

// The number of moves and of expanded states of a plain batched A*: each step takes the `batch`
// open states with the least values, or all if there are fewer. Every value must be different.
std::pair<int, std::int64_t> PlainAStar(const Domain& domain, const State& start, float weight,
                                        std::size_t batch,
                                        const StandInEvaluator::Function& estimate) {
  std::set<std::pair<float, State>> open = {{estimate(start), start}};
  std::map<State, int, ByBytes> moves = {{start, 0}};
  std::optional<int> best;
  std::int64_t expanded = 0;
  while (!open.empty() && (!best || open.begin()->first < weight * static_cast<float>(*best))) {
    std::vector<State> taken;
    while (taken.size() < batch && !open.empty() &&
           (!best || open.begin()->first < weight * static_cast<float>(*best))) {
      taken.push_back(open.begin()->second);
      open.erase(open.begin());
    }
    expanded += std::ssize(taken);
    for (const State& state : taken) {
      for (int a = 0; a < domain.spec().num_actions(); ++a) {
        const State child = After(domain, state, {static_cast<Action>(a)});
        const int length = moves.at(state) + 1;
        if (best && length >= *best) continue;
        if (IsGoal(domain, child)) {
          best = length;
          continue;
        }
        const auto known = moves.find(child);
        if (known != moves.end() && length >= known->second) continue;
        if (known != moves.end()) {
          open.erase({weight * static_cast<float>(known->second) + estimate(child), child});
        }
        moves[child] = length;
        open.emplace(weight * static_cast<float>(length) + estimate(child), child);
      }
    }
  }
  return {best.value_or(-1), expanded};
}

// With a low weight, the first steps decide how long the solution is.
TEST(AStar, TakesAWholeBatchFromTheFirstStepOn) {
  const PancakeDomain pancakes(7);
  const auto estimate = [](std::span<const std::uint8_t> state) {
    float inversions = 0;
    for (std::size_t i = 0; i + 1 < state.size(); ++i) {
      inversions += std::abs(state[i] - state[i + 1]) == 1 ? 0 : 1;
    }
    return inversions + 3 * static_cast<float>(Random(HashState(state), Purpose::kHash).Share());
  };
  StandInEvaluator network(estimate);
  for (const std::size_t batch : {1, 7, 30, 1000}) {
    AStar search(pancakes, network,
                 {.search = {.weight = 0.1, .batch = static_cast<std::int64_t>(batch)}});
    for (std::uint64_t number = 0; number < 20; ++number) {
      State start(7);
      WalkFromGoal(pancakes, Random(3, Purpose::kScramble, 0, number), 30, start);
      const SearchResult result = search.Solve(start, StopSignal());
      const auto [moves, expanded] = PlainAStar(pancakes, start, 0.1F, batch, estimate);
      EXPECT_EQ(std::ssize(result.actions), moves);
      EXPECT_EQ(result.expanded, expanded);
    }
  }
}

TEST(AStar, EvaluatesEachStateOnce) {
  const PancakeDomain pancakes(6);
  const Whole whole(pancakes);
  StateMap asked;
  StandInEvaluator counting([&](std::span<const std::uint8_t> state) {
    ++asked[State(state.begin(), state.end())];
    return whole.Erratic(state);
  });
  for (const std::int64_t batch : {1, 50}) {
    AStar search(pancakes, counting, {.search = {.weight = 1, .batch = batch}});
    for (std::size_t i = 0; i < whole.distances.size(); i += 37) {
      asked.clear();
      const SearchResult result = search.Solve(whole.rows()[i], StopSignal());
      EXPECT_EQ(std::ssize(asked), i == 0 ? 0 : result.stored);  // state 0 is the goal
      for (const auto& [state, times] : asked) ASSERT_EQ(times, 1);
    }
  }
}

TEST(AStar, ResultsDoNotDependOnInstancesOrThreads) {
  const PancakeDomain pancakes(6);
  const Whole whole(pancakes);
  StandInEvaluator erratic(
      [&](std::span<const std::uint8_t> state) { return whole.Erratic(state); });
  const auto solve = [&](std::int64_t instances, int threads) {
    tbb::task_arena arena(threads);
    return arena.execute([&] {
      return SolveWhole(whole, erratic,
                        {.search = {.weight = 0.8, .batch = 5, .instances = instances}});
    });
  };
  const std::vector<SearchResult> alone = solve(1, 1);
  for (const auto& [instances, threads] : {std::pair(1, 4), {64, 1}, {64, 4}, {1000, 3}}) {
    const std::vector<SearchResult> together = solve(instances, threads);
    for (std::size_t i = 0; i < alone.size(); ++i) {
      ASSERT_EQ(together[i].actions, alone[i].actions);
      ASSERT_EQ(together[i].nodes, alone[i].nodes);
      ASSERT_EQ(together[i].expanded, alone[i].expanded);
      ASSERT_EQ(together[i].stored, alone[i].stored);
    }
  }
}

TEST(AStar, IgnoresActionsThatDoNotApply) {
  const PathDomain path(100);
  StandInEvaluator zero([](std::span<const std::uint8_t>) { return 0.0F; });
  AStar search(path, zero, {.search = {.weight = 1, .batch = 1}});
  const SearchResult result = search.Solve(State{99}, StopSignal());
  ASSERT_TRUE(result.solved);
  EXPECT_EQ(result.actions, std::vector<Action>(99, 0));
  EXPECT_EQ(result.stored, 99);
}

}  // namespace
}  // namespace tandem
