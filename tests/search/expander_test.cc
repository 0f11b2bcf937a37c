#include "search/expander.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "support/independent_evaluator.h"
#include "support/path_domain.h"
#include "support/stand_in_evaluator.h"
#include "tandem/error.h"

namespace tandem {
namespace {

TEST(Expander, ReportsChildrenGoalsHashesAndUnchangedStates) {
  const PathDomain path(4);
  StandInEvaluator none([](std::span<const std::uint8_t>) { return 0.0F; });
  Expander expander(path, none, 100);
  const std::vector<std::uint8_t> states = {1, 3};
  expander.Expand(ConstRows(states.data(), 2, 1));
  EXPECT_TRUE(std::ranges::equal(expander.children().bytes(), std::vector{0, 2, 2, 3}));
  EXPECT_TRUE(std::ranges::equal(expander.is_goal(), std::vector{1, 0, 0, 0}));
  EXPECT_TRUE(std::ranges::equal(expander.is_left_out(), std::vector{0, 0, 0, 1}));
  EXPECT_EQ(expander.hashes()[1], expander.hashes()[2]);
  EXPECT_EQ(expander.hashes()[0], HashState(expander.children()[0]));
  EXPECT_NE(expander.hashes()[0], expander.hashes()[1]);
}

TEST(Expander, EvaluatesNoGoalsRepeatsOrKnownChildrenIfRowsAreIndependent) {
  const PathDomain path(6);
  IndependentEvaluator evaluator(
      [](std::span<const std::uint8_t> state) { return 10.0F + state[0]; });
  Expander expander(path, evaluator);
  const std::vector<std::uint8_t> states = {1, 3, 5};
  expander.Resize(states.size());
  expander.ExpandRange(ConstRows(states.data(), states.size(), 1), 0);
  EXPECT_TRUE(std::ranges::equal(expander.children().bytes(), std::vector{0, 2, 2, 4, 4, 5}));
  expander.SetEstimate(5, 7);
  expander.EstimateAll();
  EXPECT_TRUE(std::ranges::equal(expander.estimates(), std::vector<float>{0, 12, 12, 14, 14, 7}));
  EXPECT_EQ(evaluator.rows(), 2U);
}

TEST(Expander, LargeBatchEqualsSingleStates) {
  const PathDomain path(256);
  StandInEvaluator none([](std::span<const std::uint8_t>) { return 0.0F; });
  Expander all(path, none, 100);
  Expander one(path, none, 100);
  std::vector<std::uint8_t> states(5000);
  std::iota(states.begin(), states.end(), std::uint8_t{0});
  all.Expand(ConstRows(states.data(), states.size(), 1));
  ASSERT_EQ(all.children().size(), 10'000U);
  for (std::size_t i = 0; i < states.size(); ++i) {
    one.Expand(ConstRows(&states[i], 1, 1));
    for (std::size_t a = 0; a < 2; ++a) {
      ASSERT_EQ(all.children()[2 * i + a][0], one.children()[a][0]);
      ASSERT_EQ(all.is_goal()[2 * i + a], one.is_goal()[a]);
      ASSERT_EQ(all.is_left_out()[2 * i + a], one.is_left_out()[a]);
      if (one.is_left_out()[a] == 0) {
        ASSERT_EQ(all.hashes()[2 * i + a], one.hashes()[a]);
      }
    }
  }
}

TEST(Expander, EvaluatesChosenStatesInSlices) {
  const PathDomain path(256);
  std::vector<std::size_t> sizes;
  class Recorder final : public Evaluator {
   public:
    explicit Recorder(std::vector<std::size_t>& sizes) : sizes_(sizes) {}
    void Evaluate(ConstRows inputs, std::span<float> values) override {
      sizes_.push_back(inputs.size());
      for (std::size_t i = 0; i < inputs.size(); ++i) values[i] = inputs[i][0];
    }

   private:
    std::vector<std::size_t>& sizes_;
  } recorder(sizes);
  Expander expander(path, recorder, 4);
  const std::vector<std::uint8_t> states = {10, 20, 30, 40, 50, 60, 70, 80, 90, 100};
  const std::vector<std::uint32_t> chosen = {9, 0, 3, 4, 5, 8};
  const std::span<const float> values =
      expander.Estimate(ConstRows(states.data(), 10, 1), chosen, StopSignal());
  EXPECT_TRUE(std::ranges::equal(values, std::vector<float>{100, 10, 40, 50, 60, 90}));
  EXPECT_EQ(sizes, (std::vector<std::size_t>{4, 2}));
}

TEST(Expander, StopsBetweenSlices) {
  const PathDomain path(256);
  StopSignal stop;
  int rows = 0;
  StandInEvaluator asks_to_stop([&](std::span<const std::uint8_t>) {
    ++rows;
    stop.Request();
    return 0.0F;
  });
  Expander expander(path, asks_to_stop, 4);
  const std::vector<std::uint8_t> states(100, 1);
  std::vector<std::uint32_t> chosen(100);
  std::iota(chosen.begin(), chosen.end(), 0U);
  EXPECT_THROW(expander.Estimate(ConstRows(states.data(), 100, 1), chosen, stop), Stopped);
  EXPECT_EQ(rows, 4);
}

TEST(Expander, NanEstimateNamesTheState) {
  const PathDomain path(4);
  StandInEvaluator broken([](std::span<const std::uint8_t>) { return std::nanf(""); });
  Expander expander(path, broken, 4);
  const std::vector<std::uint8_t> states = {1, 3};
  const std::vector<std::uint32_t> chosen = {1};
  try {
    expander.Estimate(ConstRows(states.data(), 2, 1), chosen, StopSignal());
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("state 3 is not a number"), std::string::npos);
  }
}

TEST(Expander, RangesGiveTheSameChildrenAndOneEvaluation) {
  const PathDomain path(9);
  int calls = 0;
  class Recorder final : public Evaluator {
   public:
    explicit Recorder(int& calls) : calls_(calls) {}
    void Evaluate(ConstRows inputs, std::span<float> values) override {
      ++calls_;
      for (std::size_t i = 0; i < inputs.size(); ++i) values[i] = inputs[i][0];
    }

   private:
    int& calls_;
  } recorder(calls);
  const std::vector<std::uint8_t> states = {1, 8, 4};
  const ConstRows rows(states.data(), 3, 1);
  Expander whole(path, recorder);
  whole.Expand(rows);
  Expander parts(path, recorder);
  parts.Resize(3);
  parts.ExpandRange(rows.Slice(1, 2), 1);
  parts.ExpandRange(rows.Slice(0, 1), 0);
  parts.EstimateAll();
  EXPECT_TRUE(std::ranges::equal(parts.children().bytes(), whole.children().bytes()));
  EXPECT_TRUE(std::ranges::equal(parts.is_goal(), whole.is_goal()));
  EXPECT_TRUE(std::ranges::equal(parts.estimates(), std::vector<float>{0, 2, 7, 8, 3, 5}));
  EXPECT_EQ(calls, 1);
}

TEST(BestChild, GreedyActionRanksNegativeEstimatesAndBackupsCountThemAsZero) {
  DomainSpec spec = PathDomain(9).spec();
  spec.action_costs = {2, 1};
  const std::vector<Action> both = {0, 1};
  EXPECT_EQ(GreedyAction(spec, both, std::vector<float>{-3, -1}), Action{0});
  EXPECT_EQ(GreedyAction(spec, both, std::vector<float>{4, 5}), Action{0});  // ties: the first
  EXPECT_EQ(GreedyAction(spec, both, std::vector<float>{5, 5}), Action{1});
  EXPECT_EQ(GreedyAction(spec, {}, std::vector<float>{5, 5}), std::nullopt);
  EXPECT_EQ(BackedUpCost(spec, 0, /*is_goal=*/false, -3), 2);
  EXPECT_EQ(BackedUpCost(spec, 0, /*is_goal=*/false, 3), 5);
  EXPECT_EQ(BackedUpCost(spec, 1, /*is_goal=*/true, 3), 1);
}

}  // namespace
}  // namespace tandem
