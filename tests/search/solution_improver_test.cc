#include "search/solution_improver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "search/astar.h"
#include "search/search.h"
#include "support/detour.h"
#include "support/erratic_evaluator.h"
#include "support/goal_ball.h"
#include "support/path_domain.h"
#include "support/ring_domain.h"
#include "support/small_puzzles.h"
#include "support/stand_in_evaluator.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

constexpr double kSeconds = 60;  // far more than any of these needs

TEST(SolutionImprover, ShortensSolutionsOfSmallPuzzlesToTheOptimum) {
  const PancakeDomain pancakes(6);
  const StateMap distances = Distances(pancakes);
  SolutionImprover improver(pancakes, BallOf(pancakes, 3));
  for (std::uint64_t i = 0; i < 20; ++i) {
    const Detour detour(pancakes, 30, i);
    const auto better =
        improver.Improve(detour.start, detour.solution, kSeconds, StopSignal()).actions;
    EXPECT_TRUE(Solves(pancakes, detour.start, better));
    EXPECT_EQ(better.size(), static_cast<std::size_t>(distances.at(detour.start)));
  }
}

// The actions of this puzzle are no permutations that the domain lists, so balls around the ends of
// windows are used.
TEST(SolutionImprover, ShortensSlidingTilesToTheOptimum) {
  const auto tiles = MakeDomain("npuzzle:3");
  const GoalBall all(*tiles, 100, std::size_t{1} << 40);
  SolutionImprover improver(*tiles, BallOf(*tiles, 6));
  for (std::uint64_t i = 0; i < 2; ++i) {
    const Detour detour(*tiles, 60, i);
    const auto better =
        improver.Improve(detour.start, detour.solution, kSeconds, StopSignal()).actions;
    EXPECT_TRUE(Solves(*tiles, detour.start, better));
    EXPECT_EQ(static_cast<float>(better.size()), *all.CostOf(detour.start));
  }
}

TEST(SolutionImprover, ShortensEveryWindowOfCubeSolutions) {
  const auto cube = MakeDomain("cube2");
  SolutionImprover improver(*cube, BallOf(*cube, 4));
  StandInEvaluator zero([](std::span<const std::uint8_t>) { return 0.0F; });
  AStar truth(*cube, zero, {.search = {.weight = 1}}, BallOf(*cube, 7));
  const Detour detour(*cube, 40, 1);
  const auto better =
      improver.Improve(detour.start, detour.solution, kSeconds, StopSignal()).actions;
  EXPECT_TRUE(Solves(*cube, detour.start, better));
  EXPECT_EQ(better.size(), truth.Solve(detour.start, StopSignal()).actions.size());
}

TEST(SolutionImprover, ComparesCostsAndNotLengths) {
  const RingDomain ring(12, {1, 6});
  SolutionImprover improver(ring, BallOf(ring, 2));
  const State start = ring.At(10);
  const auto better = improver.Improve(start, {1, 1}, kSeconds, StopSignal()).actions;
  EXPECT_EQ(better, std::vector<Action>(10, Action{0}));
}

// The cheapest way has 10 actions. A solution that is longer than max_length gets no longer.
TEST(SolutionImprover, CheaperWindowsDoNotMakeTheSolutionTooLong) {
  const RingDomain ring(12, {1, 6});
  SolutionImprover improver(ring, BallOf(ring, 2));
  const State start = ring.At(10);
  const auto improved = [&](std::int64_t max_length) {
    return improver.Improve(start, {1, 1}, kSeconds, StopSignal(), 0, max_length).actions;
  };
  const std::vector<Action> expensive = {1, 1};
  EXPECT_EQ(improved(1), expensive);
  EXPECT_EQ(improved(9), expensive);
  EXPECT_EQ(improved(10), std::vector<Action>(10, Action{0}));
}

// Moves 0 and 2 may be made in either order. Of this solution, one window has the lower sum of
// rounded costs in one order, and another window in the other. Only the whole solution can be
// replaced by a cheaper one.
TEST(SolutionImprover, RoundedSumsOfCostsDoNotReplaceWindows) {
  const SwapDomain swaps({0.3F, 0.6F, 0.4F});
  const std::vector<Action> solution = {2, 1, 2, 0, 1};
  State start = {0, 1, 2, 3};
  UndoAll(swaps, solution, start);
  SolutionImprover improver(swaps, BallOf(swaps, 0.3F));
  constexpr std::int64_t kMostNodes = 20'000;
  const auto better = improver.Improve(start, solution, kSeconds, StopSignal(), kMostNodes);
  EXPECT_LT(better.nodes, kMostNodes / 10);
  EXPECT_TRUE(Solves(swaps, start, better.actions));
  EXPECT_NEAR(CostOf(swaps.spec(), better.actions), 2.2F, 1e-5F);  // it was 2.3
}

TEST(SolutionImprover, LeavesTheSolutionAloneWithoutTime) {
  const PancakeDomain pancakes(6);
  SolutionImprover improver(pancakes, BallOf(pancakes, 3));
  const Detour detour(pancakes, 30, 0);
  EXPECT_EQ(improver.Improve(detour.start, detour.solution, 0, StopSignal()).actions,
            detour.solution);
  StopSignal stopped;
  stopped.Request();
  EXPECT_EQ(improver.Improve(detour.start, detour.solution, kSeconds, stopped).actions,
            detour.solution);
}

TEST(SolutionImprover, BeamsShortenWhatIsTooLongForWindows) {
  const PancakeDomain pancakes(6);
  const StateMap distances = Distances(pancakes);
  constexpr std::int64_t kFewNodes = 20;  // windows of 2 moves, and few longer ones
  StandInEvaluator misleads(NumberOf);
  SolutionImprover windows(pancakes, BallOf(pancakes, 1), nullptr, 1, kFewNodes);
  SolutionImprover both(pancakes, BallOf(pancakes, 1),
                        std::make_unique<PathBeams>(pancakes, misleads, Config()), 1, kFewNodes);
  int longer = 0;
  for (std::uint64_t i = 0; i < 10; ++i) {
    const Detour detour(pancakes, 30, i);
    const auto distance = static_cast<std::size_t>(distances.at(detour.start));
    const auto better = both.Improve(detour.start, detour.solution, kSeconds, StopSignal()).actions;
    EXPECT_TRUE(Solves(pancakes, detour.start, better));
    EXPECT_EQ(better.size(), distance);
    const auto without =
        windows.Improve(detour.start, detour.solution, kSeconds, StopSignal()).actions;
    longer += without.size() > distance ? 1 : 0;
  }
  EXPECT_GT(longer, 0);
}

TEST(SolutionImprover, NeedsNoBallForBeams) {
  const PancakeDomain pancakes(6);
  const StateMap distances = Distances(pancakes);
  StandInEvaluator zero([](std::span<const std::uint8_t>) { return 0.0F; });
  SolutionImprover improver(pancakes, nullptr,
                            std::make_unique<PathBeams>(pancakes, zero, Config()));
  const Detour detour(pancakes, 30, 4);
  const auto all = improver.Improve(detour.start, detour.solution, kSeconds, StopSignal());
  EXPECT_TRUE(Solves(pancakes, detour.start, all.actions));
  EXPECT_EQ(all.actions.size(), static_cast<std::size_t>(distances.at(detour.start)));
  EXPECT_GT(all.nodes, 200);
  const auto some = improver.Improve(detour.start, detour.solution, kSeconds, StopSignal(), 200);
  EXPECT_TRUE(Solves(pancakes, detour.start, some.actions));
  EXPECT_GT(some.nodes, 0);
  EXPECT_LE(some.nodes, 200);
}

TEST(SolutionImprover, WindowsKeepToTheLimitOfNodes) {
  const PancakeDomain pancakes(7);
  SolutionImprover improver(pancakes, BallOf(pancakes, 1));
  const Detour detour(pancakes, 30, 4);
  const auto all = improver.Improve(detour.start, detour.solution, kSeconds, StopSignal());
  const auto some = improver.Improve(detour.start, detour.solution, kSeconds, StopSignal(), 100);
  EXPECT_TRUE(Solves(pancakes, detour.start, some.actions));
  EXPECT_GT(some.nodes, 0);
  EXPECT_LT(some.nodes, all.nodes / 2);
}

TEST(SolutionImprover, EmptySolutionStaysEmpty) {
  const PathDomain path(5);
  SolutionImprover improver(path, BallOf(path, 2));
  EXPECT_TRUE(improver.Improve(State{0}, {}, kSeconds, StopSignal()).actions.empty());
}

// Sliding tiles that count how many states are generated, and request a stop after some calls.
class CountingTiles final : public Domain {
 public:
  explicit CountingTiles(const Domain& tiles) : Domain(tiles.spec()), tiles_(tiles) {}

  void WriteGoals(Rows states) const override { tiles_.WriteGoals(states); }
  void Apply(Rows states, std::span<const Action> actions) const override {
    tiles_.Apply(states, actions);
  }
  void Expand(ConstRows states, Rows children) const override {
    tiles_.Expand(states, children);
    if (++calls == stops_at) stop.Request();
    const std::size_t actions = children.size() / states.size();
    for (std::size_t i = 0; i < children.size(); ++i) {
      generated += std::ranges::equal(children[i], states[i / actions]) ? 0 : 1;
    }
  }
  void Mask(ConstRows states, std::span<std::uint8_t> applies) const override {
    tiles_.Mask(states, applies);
  }
  void IsGoal(ConstRows states, std::span<std::uint8_t> is_goal) const override {
    tiles_.IsGoal(states, is_goal);
  }
  void Encode(ConstRows states, Rows inputs) const override { tiles_.Encode(states, inputs); }
  void ParseState(std::string_view text, std::span<std::uint8_t> state) const override {
    tiles_.ParseState(text, state);
  }
  std::string FormatState(std::span<const std::uint8_t> state) const override {
    return tiles_.FormatState(state);
  }

  int stops_at = 0;
  mutable StopSignal stop;
  mutable std::atomic<std::int64_t> generated = 0;
  mutable std::atomic<int> calls = 0;

 private:
  const Domain& tiles_;
};

TEST(SolutionImprover, CountsTheStatesOfBallsAroundTheEndsOfWindows) {
  const auto tiles = MakeDomain("npuzzle:3");
  const CountingTiles counting(*tiles);
  const Detour detour(*tiles, 60, 0);
  SolutionImprover improver(counting, BallOf(*tiles, 6));
  const auto all = improver.Improve(detour.start, detour.solution, kSeconds, StopSignal());
  EXPECT_EQ(all.nodes, counting.generated.load());
  counting.generated = 0;
  const auto some = improver.Improve(detour.start, detour.solution, kSeconds, StopSignal(), 500);
  EXPECT_TRUE(Solves(*tiles, detour.start, some.actions));
  EXPECT_EQ(some.nodes, counting.generated.load());
  EXPECT_GE(some.nodes, 500);
  EXPECT_LT(some.nodes, 5000);  // the last ball, and the search in it, may exceed the limit
}

TEST(SolutionImprover, AStopEndsABallAroundTheEndOfAWindow) {
  const auto tiles = MakeDomain("npuzzle:3");
  CountingTiles counting(*tiles);
  counting.stops_at = 2;  // the second level of the first ball
  const Detour detour(*tiles, 60, 0);
  SolutionImprover improver(counting, BallOf(*tiles, 6));
  const auto better = improver.Improve(detour.start, detour.solution, kSeconds, counting.stop);
  EXPECT_EQ(better.actions, detour.solution);
  EXPECT_EQ(counting.calls.load(), 2);
  EXPECT_EQ(better.nodes, counting.generated.load());
}

}  // namespace
}  // namespace tandem
