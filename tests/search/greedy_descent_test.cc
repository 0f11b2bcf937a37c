#include <gtest/gtest.h>

#include <cmath>

#include "domain/wrong_domains.h"
#include "search/greedy_search.h"
#include "support/head_evaluator.h"
#include "support/path_domain.h"
#include "support/stand_in_evaluator.h"

namespace tandem {
namespace {

using Taken = std::vector<std::optional<std::int64_t>>;

constexpr std::uint8_t kStarts[] = {0, 1, 5, 9};
const ConstRows kRows(kStarts, 4, 1);

TEST(GreedyDescent, ExactEstimatesLeadToTheGoal) {
  const PathDomain path(10);
  StandInEvaluator distance([](std::span<const std::uint8_t> cell) { return float(cell[0]); });
  const std::int64_t enough[] = {9, 9, 9, 9};
  EXPECT_EQ(DescendGreedily(path, distance, 4096, kRows, enough, StopSignal()),
            (Taken{0, 1, 5, 9}));
}

TEST(GreedyDescent, EachStartHasItsOwnLimit) {
  const PathDomain path(10);
  StandInEvaluator distance([](std::span<const std::uint8_t> cell) { return float(cell[0]); });
  const std::int64_t most[] = {0, 0, 5, 8};
  EXPECT_EQ(DescendGreedily(path, distance, 4096, kRows, most, StopSignal()),
            (Taken{0, std::nullopt, 5, std::nullopt}));
}

TEST(GreedyDescent, WrongEstimatesLeadAway) {
  const PathDomain path(10);
  StandInEvaluator wrong([](std::span<const std::uint8_t> cell) { return -float(cell[0]); });
  const std::int64_t most[] = {99, 99, 99, 99};
  // A goal that is a child of the current state is taken regardless of the estimates.
  EXPECT_EQ(DescendGreedily(path, wrong, 4096, kRows, most, StopSignal()),
            (Taken{0, 1, std::nullopt, std::nullopt}));
}

TEST(GreedyDescent, AnyNonzeroFlagIsAGoal) {
  const GoalFlagOf255 walker;
  StandInEvaluator wrong([](std::span<const std::uint8_t> cell) { return -float(cell[0]); });
  const std::int64_t most[] = {9, 9, 9, 9};
  EXPECT_EQ(DescendGreedily(walker, wrong, 4096, kRows, most, StopSignal()),
            (Taken{0, 1, std::nullopt, std::nullopt}));
}

// A policy that prefers one action everywhere.
class SameChoice final : public HeadEvaluator {
 public:
  explicit SameChoice(Action preferred) : HeadEvaluator(Head::kPolicy), preferred_(preferred) {}
  void Evaluate(ConstRows /*inputs*/, std::span<float> /*values*/) override { FAIL(); }
  void EvaluateActions(ConstRows /*inputs*/, std::span<float> values) override {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = -std::log(i % 2 == preferred_ ? 0.75F : 0.25F);
    }
  }

 private:
  const std::size_t preferred_;
};

TEST(GreedyDescent, PolicyTakesItsMostProbableAction) {
  const PathDomain path(10);
  const std::int64_t most[] = {9, 9, 9, 8};
  SameChoice left(0), right(1);
  EXPECT_EQ(DescendGreedily(path, left, 4096, kRows, most, StopSignal()),
            (Taken{0, 1, 5, std::nullopt}));
  EXPECT_EQ(DescendGreedily(path, right, 4096, kRows, most, StopSignal()),
            (Taken{0, 1, std::nullopt, std::nullopt}));
}

TEST(GreedyDescent, StopSignalEndsTheDescent) {
  const PathDomain path(10);
  StandInEvaluator distance([](std::span<const std::uint8_t> cell) { return float(cell[0]); });
  const std::int64_t enough[] = {9, 9, 9, 9};
  StopSignal stop;
  stop.Request();
  EXPECT_THROW(DescendGreedily(path, distance, 4096, kRows, enough, stop), Stopped);
}

}  // namespace
}  // namespace tandem
