#include "search/path_beams.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "search/search.h"
#include "support/detour.h"
#include "support/erratic_evaluator.h"
#include "support/goal_ball.h"
#include "support/path_domain.h"
#include "support/ring_domain.h"
#include "support/small_puzzles.h"
#include "support/stand_in_evaluator.h"

namespace tandem {
namespace {

constexpr Action kLeft = 0;
constexpr Action kRight = 1;

const StopSignal kNoStop;

std::vector<Action> Join(const std::vector<std::vector<Action>>& parts) {
  std::vector<Action> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::vector<Action> Left(std::size_t times) { return std::vector<Action>(times, kLeft); }

const std::vector<Action> kBackAndForth = {kRight, kLeft, kRight, kLeft};

TEST(PathBeams, WideningBeamsShortenSolutionsToTheOptimum) {
  const PancakeDomain pancakes(6);
  const StateMap distances = Distances(pancakes);
  StandInEvaluator misleads(NumberOf);
  for (const SearchMethod method : {SearchMethod::kBeam, SearchMethod::kAStar}) {
    PathBeams beams(pancakes, misleads, {.search = {.method = method}});
    for (std::uint64_t i = 0; i < 5; ++i) {
      auto [start, actions] = Detour(pancakes, 30, i);
      for (std::int64_t width = 1;;) {
        const float before = CostOf(pancakes.spec(), actions);
        const PathBeams::Pass pass = beams.Shorten(start, actions, width, kNoStop);
        ASSERT_TRUE(Solves(pancakes, start, actions));
        ASSERT_EQ(pass.shortened, CostOf(pancakes.spec(), actions) < before);
        if (pass.shortened) continue;
        if (!pass.wider_may_help) break;
        width *= 2;
        ASSERT_LE(width, 2048);  // more than there are states
      }
      EXPECT_EQ(actions.size(), static_cast<std::size_t>(distances.at(start)));
    }
  }
}

// Farther than ten cells from the goal, the estimates lead away from it. A beam of one state then
// solves only parts of a solution that are short.
float LeadsAwayFromAfar(int distance) {
  return distance > 10 ? -static_cast<float>(distance) : static_cast<float>(distance);
}

TEST(PathBeams, FindsAPartBetweenTwoStatesOfAPuzzleOfPermutations) {
  const RingDomain ring(100);
  StandInEvaluator network([](std::span<const std::uint8_t> state) {
    return LeadsAwayFromAfar(RingDomain::Distance(state));
  });
  PathBeams beams(ring, network, {});
  const State start = ring.At(40);
  // Every part that ends at the goal and has the four useless moves starts far from the goal.
  std::vector<Action> actions = Join({Left(5), kBackAndForth, Left(35)});
  EXPECT_TRUE(beams.Shorten(start, actions, 1, kNoStop).shortened);
  EXPECT_EQ(actions, Left(40));
  const PathBeams::Pass again = beams.Shorten(start, actions, 1, kNoStop);
  EXPECT_FALSE(again.shortened);
  EXPECT_TRUE(again.wider_may_help);
  EXPECT_EQ(actions, Left(40));
}

TEST(PathBeams, SearchesPartsThatEndAtTheGoalIfActionsAreNoPermutations) {
  const PathDomain path(40);
  StandInEvaluator network(
      [](std::span<const std::uint8_t> state) { return LeadsAwayFromAfar(state[0]); });
  PathBeams beams(path, network, {});
  std::vector<Action> actions = Join({Left(4), kBackAndForth, Left(8)});
  EXPECT_TRUE(beams.Shorten(State{12}, actions, 1, kNoStop).shortened);
  EXPECT_EQ(actions, Left(12));
  // The four useless moves are now too far from the goal for a beam of one state.
  const std::vector<Action> far = Join({kBackAndForth, Left(30)});
  actions = far;
  EXPECT_FALSE(beams.Shorten(State{30}, actions, 1, kNoStop).shortened);
  EXPECT_EQ(actions, far);
  EXPECT_TRUE(beams.Shorten(State{30}, actions, 2, kNoStop).shortened);
  EXPECT_EQ(actions, Left(30));
}

TEST(PathBeams, ComparesCostsAndNotLengths) {
  const RingDomain ring(12, {1, 6});
  StandInEvaluator zero([](std::span<const std::uint8_t>) { return 0.0F; });
  PathBeams beams(ring, zero, {});
  std::vector<Action> actions = {kRight, kRight};
  EXPECT_TRUE(beams.Shorten(ring.At(10), actions, 4, kNoStop).shortened);
  EXPECT_EQ(actions, Left(10));
  EXPECT_FALSE(beams.Shorten(ring.At(10), actions, 4, kNoStop).shortened);
}

TEST(PathBeams, CheaperPartsDoNotMakeTheSolutionTooLong) {
  const RingDomain ring(12, {1, 6});
  StandInEvaluator zero([](std::span<const std::uint8_t>) { return 0.0F; });
  PathBeams beams(ring, zero, {});
  const std::vector<Action> expensive = {kRight, kRight};
  std::vector<Action> actions = expensive;
  constexpr std::int64_t kNoNodeLimit = 0;
  EXPECT_FALSE(
      beams.Shorten(ring.At(10), actions, 4, kNoStop, kNoNodeLimit, /*max_length=*/9).shortened);
  EXPECT_EQ(actions, expensive);
  EXPECT_TRUE(
      beams.Shorten(ring.At(10), actions, 4, kNoStop, kNoNodeLimit, /*max_length=*/10).shortened);
  EXPECT_EQ(actions, Left(10));
}

TEST(PathBeams, LeavesOutPartsThatABallSettles) {
  const RingDomain ring(100);
  StandInEvaluator never([](std::span<const std::uint8_t>) -> float { throw 1; });
  const auto ball = BallOf(ring, 5);
  PathBeams beams(ring, never, {}, ball);
  std::vector<Action> actions = Join({kBackAndForth, Left(6)});  // cost 10, twice the radius
  const PathBeams::Pass pass = beams.Shorten(ring.At(6), actions, 1, kNoStop);
  EXPECT_FALSE(pass.shortened);
  EXPECT_FALSE(pass.wider_may_help);
}

TEST(PathBeams, WiderBeamsDoNotHelpWhereMemoryDoesNotSuffice) {
  const PancakeDomain pancakes(6);
  StandInEvaluator never([](std::span<const std::uint8_t>) -> float { throw 1; });
  Config config;
  config.search.max_gib = 1e-7;  // 107 bytes
  PathBeams beams(pancakes, never, config);
  const State start = {5, 3, 1, 4, 2, 0};
  const std::vector<Action> shortest = ShortestWay(pancakes, start, 10);
  // A way that is too long by one, but no part of it returns to where it began, which even a search
  // without memory would see.
  std::vector<Action> before;
  for (Action first = 0; before.size() != shortest.size() + 1; ++first) {
    ASSERT_LT(first, pancakes.spec().num_actions());
    State next = start;
    pancakes.Apply(Rows(std::span(next)), {&first, 1});
    before = Join({{first}, ShortestWay(pancakes, next, 10)});
  }
  std::vector<Action> actions = before;
  const PathBeams::Pass pass = beams.Shorten(start, actions, 1, kNoStop);
  EXPECT_FALSE(pass.shortened);
  EXPECT_FALSE(pass.wider_may_help);
  EXPECT_EQ(actions, before);
}

TEST(PathBeams, WithoutTimeOrAfterAStopNothingChanges) {
  const RingDomain ring(20);
  StandInEvaluator never([](std::span<const std::uint8_t>) -> float { throw 1; });
  PathBeams beams(ring, never, {});
  const std::vector<Action> before = Join({kBackAndForth, Left(6)});
  std::vector<Action> actions = before;
  StopSignal stopped;
  stopped.Request();
  const StopSignal no_time(&kNoStop, 0);
  for (const StopSignal* stop : {&no_time, static_cast<const StopSignal*>(&stopped)}) {
    const PathBeams::Pass pass = beams.Shorten(ring.At(6), actions, 1, *stop);
    EXPECT_FALSE(pass.shortened);
    EXPECT_TRUE(pass.wider_may_help);
    EXPECT_EQ(actions, before);
  }
}

TEST(PathBeams, TheTimeLimitEndsABeamBetweenItsBatches) {
  const PancakeDomain pancakes(7);
  SlowOnceEvaluator slow(1, std::chrono::milliseconds(200),
                         [](std::span<const std::uint8_t>) { return 0.0F; });
  Config config;
  config.inference.batch_size = 1;
  PathBeams beams(pancakes, slow, config);
  const State start = {6, 3, 5, 1, 4, 2, 0};
  std::vector<Action> actions = Join({{0, 0}, ShortestWay(pancakes, start, 10)});
  EXPECT_TRUE(beams.Shorten(start, actions, 1, StopSignal(&kNoStop, 0.2)).wider_may_help);
  EXPECT_LE(slow.rows(), 1);  // of the six children of the first state
}

TEST(PathBeams, AStopDuringABeamKeepsTheSolution) {
  const PancakeDomain pancakes(6);
  StopSignal stop;
  StandInEvaluator asks_to_stop([&](std::span<const std::uint8_t>) {
    stop.Request();
    return 0.0F;
  });
  PathBeams beams(pancakes, asks_to_stop, {});
  const State start = {5, 3, 1, 4, 2, 0};
  const std::vector<Action> before = Join({{0, 0}, ShortestWay(pancakes, start, 10)});
  std::vector<Action> actions = before;
  EXPECT_TRUE(beams.Shorten(start, actions, 1, stop).wider_may_help);
  EXPECT_EQ(actions, before);
}

}  // namespace
}  // namespace tandem
