#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "search/greedy_search.h"
#include "support/head_evaluator.h"
#include "support/path_domain.h"
#include "support/small_puzzles.h"
#include "support/stand_in_evaluator.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

// Returns the same values of actions for every state.
class SameActions final : public HeadEvaluator {
 public:
  SameActions(Head head, std::vector<float> values)
      : HeadEvaluator(head), values_(std::move(values)) {}
  void Evaluate(ConstRows /*inputs*/, std::span<float> /*values*/) override { FAIL(); }
  void EvaluateActions(ConstRows inputs, std::span<float> values) override {
    ASSERT_EQ(inputs.size(), 1U);
    std::ranges::copy(values_, values.begin());
  }

 private:
  const std::vector<float> values_;
};

std::string BestOf(const Domain& domain, const Hint& hint) {
  return hint.action ? domain.spec().action_names[*hint.action] : "none";
}

TEST(Hint, ExactEstimatesGiveOptimalActions) {
  const PancakeDomain pancakes(5, 2.5F);
  const StateMap distances = Distances(pancakes);
  StandInEvaluator truth([&](std::span<const std::uint8_t> input) {
    return 2.5F * static_cast<float>(distances.at({input.begin(), input.end()}));
  });
  for (auto [state, distance] : distances) {
    const Hint hint = HintFor(pancakes, truth, state);
    ASSERT_EQ(hint.estimate, 2.5F * static_cast<float>(distance));
    ASSERT_EQ(hint.action.has_value(), distance > 0);
    if (!hint.action) continue;
    ASSERT_EQ(distances.at(After(pancakes, state, {*hint.action})), distance - 1);
    ASSERT_EQ(hint.rest, 2.5F * static_cast<float>(distance - 1));
  }
}

TEST(Hint, IncludesActionCosts) {
  const auto maze = MakeDomain("grid:5");
  State state(25);
  maze->ParseState("#####\n#@  #\n#   #\n#  .#\n#####", state);
  float diagonal = 0;  // the network's estimate of the state after the diagonal step
  StandInEvaluator network([&](std::span<const std::uint8_t> input) {
    const auto walker = std::ranges::find(input, 3) - input.begin();
    return walker == 12 ? diagonal : 3.0F;
  });
  diagonal = 2.7F;
  EXPECT_EQ(BestOf(*maze, HintFor(*maze, network, state)), "d");
  diagonal = 2.5F;
  EXPECT_EQ(BestOf(*maze, HintFor(*maze, network, state)), "dr");
}

TEST(Hint, NeverSuggestsAnActionThatDoesNotApply) {
  const PathDomain path(5);
  const State end = {4};
  StandInEvaluator v_net(
      [](std::span<const std::uint8_t> input) { return input[0] == 4 ? -1.F : 9.F; });
  EXPECT_EQ(BestOf(path, HintFor(path, v_net, end)), "l");
  SameActions q_net(Head::kQ, {7, 1});
  const Hint hint = HintFor(path, q_net, end);
  EXPECT_EQ(BestOf(path, hint), "l");
  EXPECT_EQ(hint.estimate, 7);
  EXPECT_EQ(hint.rest, 6);
}

TEST(Hint, EstimatesGoalsAsZero) {
  const PathDomain path(5);
  StandInEvaluator v_net(
      [](std::span<const std::uint8_t> input) { return input[0] == 0 ? 8.F : 5.F; });
  SameActions q_net(Head::kQ, {20, 3});
  EXPECT_EQ(BestOf(path, HintFor(path, v_net, State{1})), "l");
  EXPECT_EQ(BestOf(path, HintFor(path, q_net, State{1})), "l");
  EXPECT_EQ(HintFor(path, q_net, State{1}).rest, 0);
  EXPECT_EQ(BestOf(path, HintFor(path, q_net, State{2})), "r");
  EXPECT_EQ(BestOf(path, HintFor(path, v_net, State{0})), "none");
  EXPECT_EQ(HintFor(path, q_net, State{0}).estimate, 0);
}

TEST(Hint, NegativeEstimatesCountAsZeroAndTiesGoToTheFirst) {
  const PathDomain path(5);
  StandInEvaluator v_net(
      [](std::span<const std::uint8_t> input) { return -static_cast<float>(input[0]); });
  const Hint by_states = HintFor(path, v_net, State{2});
  EXPECT_EQ(BestOf(path, by_states), "l");
  EXPECT_EQ(by_states.rest, 0);
  EXPECT_EQ(by_states.estimate, 0);
  SameActions q_net(Head::kQ, {-1, -2});
  EXPECT_EQ(BestOf(path, HintFor(path, q_net, State{2})), "l");
}

TEST(Hint, OfAPolicyIsItsMostProbableActionThatApplies) {
  const PathDomain path(10);
  SameActions right(Head::kPolicy, {-std::log(0.25F), -std::log(0.75F)});
  EXPECT_EQ(HintFor(path, right, State{5}).action, 1);
  EXPECT_FLOAT_EQ(HintFor(path, right, State{5}).probability.value(), 0.75F);
  EXPECT_EQ(HintFor(path, right, State{9}).action, 0);
  EXPECT_FALSE(HintFor(path, right, State{0}).action.has_value());
}

TEST(Hint, EstimateComesFromTheStateItself) {
  const PathDomain path(5);
  StandInEvaluator v_net(
      [](std::span<const std::uint8_t> input) { return input[0] == 2 ? 8.0F : 1.0F; });
  EXPECT_EQ(HintFor(path, v_net, State{2}).estimate, 8);
  EXPECT_EQ(HintFor(path, v_net, State{2}).rest, 1);
}

}  // namespace
}  // namespace tandem
