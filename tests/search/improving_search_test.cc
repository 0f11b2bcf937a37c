#include "search/improving_search.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/detour.h"
#include "support/goal_ball.h"
#include "support/long_way.h"
#include "support/ring_domain.h"
#include "support/small_puzzles.h"

namespace tandem {
namespace {

constexpr double kSeconds = 60;  // far more than any of these needs

TEST(ImprovingSearch, ReportsTheLengthBeforeAndLeavesUnsolvedPuzzlesAlone) {
  const PancakeDomain pancakes(6);
  const Detour detour(pancakes, 30, 3);
  const SearchConfig config{.instances = 2, .improve_seconds = kSeconds};
  ImprovingSearch search(pancakes, std::make_unique<LongWay>(detour.solution), BallOf(pancakes, 3),
                         config, nullptr);
  std::vector<std::uint8_t> starts;
  for (int i = 0; i < 3; ++i) {
    starts.insert(starts.end(), detour.start.begin(), detour.start.end());
  }
  std::vector<std::size_t> numbers;
  search.SolveAll(ConstRows(starts.data(), 3, 6), StopSignal(),
                  [&](std::size_t i, SearchResult result) {
                    numbers.push_back(i);
                    EXPECT_EQ(result.found_length.has_value(), result.solved);
                    if (!result.solved) return;
                    EXPECT_EQ(*result.found_length, 30U);
                    EXPECT_LT(result.actions.size(), 8U);
                    EXPECT_GT(result.nodes, 0);
                    EXPECT_EQ(result.cost, static_cast<float>(result.actions.size()));
                  });
  EXPECT_EQ(numbers, (std::vector<std::size_t>{0, 1, 2}));
}

// The search has not proved that there is no such solution, so its own reason stays.
TEST(ImprovingSearch, LeavesAPuzzleUnsolvedIfTheGivenSolutionCostsTooMuch) {
  const PancakeDomain pancakes(6);
  const Detour detour(pancakes, 30, 3);
  const std::vector<std::vector<Action>> solutions = {{}, detour.solution};
  std::vector<std::uint8_t> starts = detour.start;
  starts.insert(starts.end(), detour.start.begin(), detour.start.end());
  for (const double at_most : {0.5, 8.0}) {
    ImprovingSearch search(
        pancakes, std::make_unique<LongWay>(detour.solution), BallOf(pancakes, 3),
        {.instances = 2, .improve_seconds = kSeconds, .at_most = at_most}, nullptr);
    SearchResult second;
    search.SolveAll({ConstRows(starts.data(), 2, 6), {}, solutions}, StopSignal(),
                    [&](std::size_t i, SearchResult result) {
                      if (i == 1) second = std::move(result);
                    });
    EXPECT_EQ(second.solved, at_most == 8);
    EXPECT_EQ(second.best.has_value(), !second.solved);
    EXPECT_EQ(second.found_length.has_value(), second.solved);
    EXPECT_EQ(second.actions.empty(), !second.solved);
    EXPECT_EQ(second.stop_reason, second.solved ? StopReason::kSolved : StopReason::kNodeLimit);
    EXPECT_GT(second.nodes, 0);  // those of the attempt to shorten it
  }
}

TEST(ImprovingSearch, ShortensTheGivenSolutionIfTheSearchFindsNone) {
  const PancakeDomain pancakes(6);
  const Detour detour(pancakes, 30, 3);
  ImprovingSearch search(pancakes, std::make_unique<LongWay>(detour.solution), BallOf(pancakes, 3),
                         {.instances = 2, .improve_seconds = kSeconds}, nullptr);
  std::vector<std::uint8_t> starts;
  for (int i = 0; i < 2; ++i) {
    starts.insert(starts.end(), detour.start.begin(), detour.start.end());
  }
  const std::vector<std::vector<Action>> solutions = {{}, detour.solution};  // it solves the first
  std::size_t solved = 0;
  search.SolveAll({ConstRows(starts.data(), 2, 6), {}, solutions}, StopSignal(),
                  [&](std::size_t /*i*/, const SearchResult& result) {
                    if (!result.solved) return;
                    ++solved;
                    EXPECT_EQ(*result.found_length, 30U);
                    EXPECT_LT(result.actions.size(), 8U);
                    EXPECT_TRUE(Solves(pancakes, detour.start, result.actions));
                  });
  EXPECT_EQ(solved, 2U);
}

// Three actions of cost 1 are cheaper than one of cost 10.
TEST(ImprovingSearch, CheaperSolutionsKeepToMaxLengthExceptAfterAStar) {
  const RingDomain ring(4, {1, 10});
  const State start = ring.At(3);
  const auto improved = [&](SearchMethod method, std::int64_t max_length) {
    const SearchConfig config{
        .method = method, .max_length = max_length, .improve_seconds = kSeconds};
    ImprovingSearch search(ring, std::make_unique<LongWay>(std::vector<Action>{1}), BallOf(ring, 3),
                           config, nullptr);
    return search.Solve(start, StopSignal()).actions;
  };
  const std::vector<Action> cheapest(3, Action{0});
  EXPECT_EQ(improved(SearchMethod::kBeam, 1), std::vector<Action>{1});
  EXPECT_EQ(improved(SearchMethod::kBeam, 2), std::vector<Action>{1});
  EXPECT_EQ(improved(SearchMethod::kBeam, 3), cheapest);
  EXPECT_EQ(improved(SearchMethod::kAStar, 1), cheapest);
}

}  // namespace
}  // namespace tandem
