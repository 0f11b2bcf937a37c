#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "search/evaluation.h"
#include "support/head_evaluator.h"
#include "support/searches.h"
#include "support/small_puzzles.h"

namespace tandem {
namespace {

// Gives the input's first byte, times a factor, and adds the number of the action.
class Times final : public HeadEvaluator {
 public:
  explicit Times(float factor, Head head = Head::kQ) : HeadEvaluator(head), factor_(factor) {}
  void Evaluate(ConstRows inputs, std::span<float> values) override {
    for (std::size_t i = 0; i < inputs.size(); ++i) values[i] = factor_ * float(inputs[i][0]);
  }
  void EvaluateActions(ConstRows inputs, std::span<float> values) override {
    const std::size_t actions = values.size() / inputs.size();
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = factor_ * float(inputs[i / actions][0]) + float(i % actions);
    }
  }

 private:
  const float factor_;
};

TEST(Ensemble, GivesTheMeanOfTheNetworks) {
  Times one(1), five(5), six(6);
  Ensemble all({&one, &five, &six});
  const State inputs = {2, 7};
  std::vector<float> values(2);
  all.Evaluate(ConstRows(inputs.data(), 2, 1), values);
  EXPECT_FLOAT_EQ(values[0], 8);
  EXPECT_FLOAT_EQ(values[1], 28);
  std::vector<float> of_actions(4);
  all.EvaluateActions(ConstRows(inputs.data(), 2, 1), of_actions);
  EXPECT_FLOAT_EQ(of_actions[0], 8);
  EXPECT_FLOAT_EQ(of_actions[1], 9);
  EXPECT_FLOAT_EQ(of_actions[2], 28);
  EXPECT_FLOAT_EQ(of_actions[3], 29);
}

// Gives a value and three actions by one call.
class ByOneCall final : public HeadEvaluator {
 public:
  ByOneCall() : HeadEvaluator(Head::kVp) {}
  void Evaluate(ConstRows /*inputs*/, std::span<float> /*values*/) override { ADD_FAILURE(); }
  void EvaluateWithActions(ConstRows inputs, std::span<float> values) override {
    for (float& value : values) value = float(inputs.size());
    ++calls;
  }
  int calls = 0;
};

TEST(Ensemble, EachNetworkEvaluatesAStateAndItsActionsOnce) {
  ByOneCall one, two;
  Ensemble both({&one, &two});
  const State inputs = {2, 7};
  std::vector<float> values(8);
  both.EvaluateWithActions(ConstRows(inputs.data(), 2, 1), values);
  EXPECT_EQ(values, std::vector<float>(8, 2));
  EXPECT_EQ(one.calls + two.calls, 2);
}

TEST(Ensemble, OfOneNetworkGivesItsValues) {
  Times third(1.0F / 3);
  Ensemble only({&third});
  const State inputs = {1, 7};
  std::vector<float> expected(2), values(2);
  third.Evaluate(ConstRows(inputs.data(), 2, 1), expected);
  only.Evaluate(ConstRows(inputs.data(), 2, 1), values);
  EXPECT_EQ(values, expected);
}

TEST(Ensemble, GivesTheKindsOfValuesThatItsNetworksGive) {
  for (const Head head : {Head::kV, Head::kQ, Head::kPolicy, Head::kVp}) {
    Times one(1, head), five(5, head);
    const Ensemble both({&one, &five});
    EXPECT_EQ(both.estimates_states(), one.estimates_states());
    EXPECT_EQ(both.action_values(), one.action_values());
  }
}

TEST(Ensemble, NanOfOneNetworkIsNotLost) {
  Times one(1), broken(std::nanf(""));
  Ensemble both({&one, &broken});
  const State inputs = {2};
  std::vector<float> values(1);
  both.Evaluate(ConstRows(inputs.data(), 1, 1), values);
  EXPECT_TRUE(std::isnan(values[0]));
}

// The true distance of a pancake stack plus an error, which has the opposite sign in the other
// network.
class OffBy final : public Evaluator {
 public:
  OffBy(const StateMap& distances, float error) : distances_(distances), error_(error) {}
  void Evaluate(ConstRows inputs, std::span<float> values) override {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const float sign = inputs[i][0] % 2 == 0 ? 1 : -1;
      values[i] = float(distances_.at({inputs[i].begin(), inputs[i].end()})) + sign * error_;
    }
  }

 private:
  const StateMap& distances_;
  const float error_;
};

TEST(Ensemble, ErrorsThatCancelLeaveShortestSolutions) {
  const PancakeDomain pancakes(6);
  const StateMap distances = Distances(pancakes);
  OffBy high(distances, 4), low(distances, -4);
  Ensemble both({&high, &low});
  BeamSearch search(pancakes, both, {.search = {.beam_width = 1, .max_length = 10}});
  for (const auto& [state, distance] : distances) {
    const SearchResult result = search.Solve(state, StopSignal());
    ASSERT_TRUE(result.solved);
    ASSERT_EQ(std::ssize(result.actions), distance);
  }
}

}  // namespace
}  // namespace tandem
