#include "search/greedy.h"

#include <gtest/gtest.h>

#include "domain/wrong_domains.h"
#include "support/path_domain.h"
#include "support/stand_in_evaluator.h"

namespace tandem {
namespace {

using Taken = std::vector<std::optional<std::int64_t>>;

constexpr std::uint8_t kStarts[] = {0, 1, 5, 9};
const ConstRows kRows(kStarts, 4, 1);

TEST(Greedy, ExactEstimatesLeadToTheGoal) {
  const PathDomain path(10);
  StandInEvaluator distance([](std::span<const std::uint8_t> cell) { return float(cell[0]); });
  const std::int64_t enough[] = {9, 9, 9, 9};
  EXPECT_EQ(DescendGreedily(path, distance, 4096, kRows, enough, StopSignal()),
            (Taken{0, 1, 5, 9}));
}

TEST(Greedy, EachStartHasItsOwnLimit) {
  const PathDomain path(10);
  StandInEvaluator distance([](std::span<const std::uint8_t> cell) { return float(cell[0]); });
  const std::int64_t most[] = {0, 0, 5, 8};
  EXPECT_EQ(DescendGreedily(path, distance, 4096, kRows, most, StopSignal()),
            (Taken{0, std::nullopt, 5, std::nullopt}));
}

TEST(Greedy, WrongEstimatesLeadAway) {
  const PathDomain path(10);
  StandInEvaluator wrong([](std::span<const std::uint8_t> cell) { return -float(cell[0]); });
  const std::int64_t most[] = {99, 99, 99, 99};
  // A goal that is a child of the current state is taken regardless of the estimates.
  EXPECT_EQ(DescendGreedily(path, wrong, 4096, kRows, most, StopSignal()),
            (Taken{0, 1, std::nullopt, std::nullopt}));
}

TEST(Greedy, AnyNonzeroFlagIsAGoal) {
  const GoalFlagOf255 walker;
  StandInEvaluator wrong([](std::span<const std::uint8_t> cell) { return -float(cell[0]); });
  const std::int64_t most[] = {9, 9, 9, 9};
  EXPECT_EQ(DescendGreedily(walker, wrong, 4096, kRows, most, StopSignal()),
            (Taken{0, 1, std::nullopt, std::nullopt}));
}

TEST(Greedy, StopSignalEndsTheDescent) {
  const PathDomain path(10);
  StandInEvaluator distance([](std::span<const std::uint8_t> cell) { return float(cell[0]); });
  const std::int64_t enough[] = {9, 9, 9, 9};
  StopSignal stop;
  stop.Request();
  EXPECT_THROW(DescendGreedily(path, distance, 4096, kRows, enough, stop), Stopped);
}

}  // namespace
}  // namespace tandem
