#include "search/improve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "base/random.h"
#include "domain/random_walk.h"
#include "search/astar.h"
#include "search/search.h"
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

// A random walk away from the goal, and the way back.
struct Detour {
  Detour(const Domain& domain, int moves, std::uint64_t number)
      : start(static_cast<std::size_t>(domain.spec().state_size)) {
    RandomWalk walk(domain, Random(9, Purpose::kScramble, 0, number), start);
    for (int i = 0; i < moves; ++i) {
      walk.Step();
      solution.insert(solution.begin(), *walk.back());
    }
  }

  State start;
  std::vector<Action> solution;
};

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

// Solves pancakes by walking a fixed long way.
class LongWay final : public Search {
 public:
  explicit LongWay(std::vector<Action> actions) : actions_(std::move(actions)) {}
  void SolveAll(const Starts& starts, const StopSignal& /*stop*/, const Done& done) override {
    for (std::size_t i = 0; i < starts.size(); ++i) {
      done(i, {.solved = i != 1, .ended = Ended::kSolved, .actions = actions_});
    }
  }
  std::string Describe() const override { return "a long way"; }
  std::string_view MainKey() const override { return ""; }
  std::string Failure(const SearchResult& /*result*/) const override { return "not found"; }

 private:
  const std::vector<Action> actions_;
};

TEST(ImprovingSearch, ReportsTheLengthBeforeAndLeavesUnsolvedPuzzlesAlone) {
  const PancakeDomain pancakes(6);
  const Detour detour(pancakes, 30, 3);
  const SearchConfig config{.instances = 2, .improve_seconds = kSeconds};
  ImprovingSearch search(pancakes, std::make_unique<LongWay>(detour.solution), BallOf(pancakes, 3),
                         config);
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

TEST(ImprovingSearch, ReportsNoSolutionThatCostsMoreThanAllowed) {
  const PancakeDomain pancakes(6);
  const Detour detour(pancakes, 30, 3);
  const std::vector<std::vector<Action>> solutions = {detour.solution};
  for (const double at_most : {0.5, 8.0}) {
    ImprovingSearch search(pancakes, std::make_unique<LongWay>(detour.solution),
                           BallOf(pancakes, 3), {.improve_seconds = kSeconds, .at_most = at_most});
    search.SolveAll({ConstRows(detour.start), {}, solutions}, StopSignal(),
                    [&](std::size_t /*i*/, const SearchResult& result) {
                      EXPECT_EQ(result.solved, at_most == 8);
                      if (result.solved) return;
                      EXPECT_EQ(result.ended, Ended::kCostLimit);
                      EXPECT_TRUE(result.actions.empty());
                    });
  }
}

TEST(ImprovingSearch, ShortensTheGivenSolutionIfTheSearchFindsNone) {
  const PancakeDomain pancakes(6);
  const Detour detour(pancakes, 30, 3);
  ImprovingSearch search(pancakes, std::make_unique<LongWay>(detour.solution), BallOf(pancakes, 3),
                         {.instances = 2, .improve_seconds = kSeconds});
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
