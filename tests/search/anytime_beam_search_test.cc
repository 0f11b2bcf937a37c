
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "domain/moves.h"
#include "domain/random_walks.h"
#include "search/hash_set.h"
#include "search/search.h"
#include "support/erratic_evaluator.h"
#include "support/goal_ball.h"
#include "support/ring_domain.h"
#include "support/searches.h"
#include "support/small_puzzles.h"
#include "support/stand_in_evaluator.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

constexpr double kAmple = 1000;  // seconds; no search of these tests takes nearly as long

TEST(AnytimeBeamSearch, WiderBeamsShortenTheSolutionOfTheFirst) {
  const PancakeDomain pancakes(6, /*action_cost=*/2.5);
  StandInEvaluator misleads(NumberOf);
  BeamSearch narrow(pancakes, misleads, {.search = {.beam_width = 64}});
  AnytimeBeamSearch search(pancakes, misleads,
                           {.search = {.beam_width = 1000, .max_seconds = kAmple}});
  int shortened = 0;
  for (const auto& [state, distance] : Distances(pancakes)) {
    if (distance < 6) continue;
    const SearchResult first = narrow.Solve(state, StopSignal());
    const SearchResult result = search.Solve(state, StopSignal());
    ASSERT_TRUE(result.solved);
    EXPECT_EQ(result.stop_reason, StopReason::kSolved);
    EXPECT_EQ(std::ssize(result.actions), distance);
    EXPECT_EQ(result.cost, 2.5F * float(distance));
    EXPECT_TRUE(Solves(pancakes, state, result.actions));
    EXPECT_FALSE(result.best.has_value());
    EXPECT_GT(result.nodes, first.nodes);  // the sum over all beams
    shortened += first.solved && first.actions.size() > result.actions.size() ? 1 : 0;
  }
  EXPECT_GT(shortened, 0);
}

// Presses commute, so beams press some buttons twice. For one of these states, the wider beam finds
// a solution that is shorter than the first one, but not without the detours of both.
TEST(AnytimeBeamSearch, KeepsTheSolutionThatIsCheapestWithoutItsDetours) {
  const auto lights = MakeDomain("lights_out:5");
  StandInEvaluator nearly_by_chance([](std::span<const std::uint8_t> state) {
    const auto lit = static_cast<float>(std::ranges::count(state, 1));
    return lit / 3 + static_cast<float>(HashState(state) % 1000) / 100;
  });
  BeamSearch narrow(*lights, nearly_by_chance, {.search = {.beam_width = 64}});
  AnytimeBeamSearch search(*lights, nearly_by_chance,
                           {.search = {.beam_width = 128, .max_seconds = kAmple}});
  int with_detours = 0;
  for (std::uint64_t number = 0; number < 30; ++number) {
    State state = GoalOf(*lights);
    WalkFromGoal(*lights, Random(3, Purpose::kScramble, 0, number), 12, state);
    const SearchResult first = narrow.Solve(state, StopSignal());
    const SearchResult result = search.Solve(state, StopSignal());
    if (!first.solved) continue;
    const std::vector<Action> direct = WithoutDetours(*lights, state, first.actions);
    EXPECT_TRUE(Solves(*lights, state, result.actions));
    EXPECT_LE(result.actions.size(), direct.size()) << number;
    EXPECT_EQ(result.cost, static_cast<float>(result.actions.size()));
    with_detours += direct.size() < first.actions.size() ? 1 : 0;
  }
  EXPECT_GT(with_detours, 20);
}

TEST(AnytimeBeamSearch, WidthOfOneIsASingleBeamSearch) {
  const RingDomain ring(100);
  StandInEvaluator truth(&RingDomain::Estimate);
  const State start = ring.At(37);
  AnytimeBeamSearch search(ring, truth, {.search = {.beam_width = 1, .max_seconds = kAmple}});
  const SearchResult result = search.Solve(start, StopSignal());
  EXPECT_EQ(result.actions.size(), 37U);
  EXPECT_EQ(result.stop_reason, StopReason::kSolved);
  EXPECT_EQ(result.expanded, 37);
}

TEST(AnytimeBeamSearch, SolutionOfOneActionEndsIt) {
  const PancakeDomain pancakes(4);
  StandInEvaluator never([](std::span<const std::uint8_t>) -> float { throw 1; });
  AnytimeBeamSearch search(pancakes, never, {.search = {.max_seconds = kAmple}});
  EXPECT_EQ(search.Solve(State{1, 0, 2, 3}, StopSignal()).expanded, 1);
  const SearchResult none = search.Solve(State{0, 1, 2, 3}, StopSignal());
  EXPECT_TRUE(none.solved);
  EXPECT_EQ(none.stop_reason, StopReason::kSolved);
  EXPECT_EQ(none.nodes, 0);
}

TEST(AnytimeBeamSearch, FailedSearchReportsTheLeastEstimateOfAllBeams) {
  const CycleDomain cycles(6);
  float least = 1000;
  StandInEvaluator anything([&](std::span<const std::uint8_t> state) {
    least = std::min(least, NumberOf(state));
    return NumberOf(state);
  });
  AnytimeBeamSearch search(cycles, anything,
                           {.search = {.beam_width = 100, .max_seconds = kAmple}});
  const State odd = {1, 0, 2, 3, 4, 5};
  const SearchResult result = search.Solve(odd, StopSignal());
  EXPECT_FALSE(result.solved);
  EXPECT_EQ(result.stop_reason, StopReason::kExhausted);
  ASSERT_TRUE(result.best.has_value());
  EXPECT_EQ(result.best->estimate, least);
  EXPECT_EQ(NumberOf(After(cycles, odd, result.best->actions)), least);
}

TEST(AnytimeBeamSearch, EndsAtItsTimeLimit) {
  const auto cube = MakeDomain("cube3");
  StandInEvaluator zero([](std::span<const std::uint8_t>) { return 0.0F; });
  State start(static_cast<std::size_t>(cube->spec().state_size));
  WalkFromGoal(*cube, Random(3, Purpose::kScramble, 0, 0), 20, start);
  AnytimeBeamSearch search(
      *cube, zero, {.search = {.beam_width = 1 << 28, .max_length = 8, .max_seconds = 0.3}});
  const SearchResult result = search.Solve(start, StopSignal());
  EXPECT_FALSE(result.solved);
  EXPECT_EQ(result.stop_reason, StopReason::kTimeLimit);
  // A beam of 2^28 states, which holds every state within 7 moves, would generate 101 million.
  EXPECT_LT(result.nodes, 100'000'000);
}

// Two dear steps lead to the goal in one direction, ten cheap ones in the other.
TEST(AnytimeBeamSearch, LaterBeamsFindCheaperSolutionsOfMoreActions) {
  const RingDomain ring(12, {1, 6});
  StandInEvaluator truth(&RingDomain::Estimate);
  AnytimeBeamSearch search(ring, truth, {.search = {.beam_width = 1000, .max_seconds = kAmple}});
  const SearchResult result = search.Solve(ring.At(10), StopSignal());
  EXPECT_EQ(result.actions, std::vector<Action>(10, Action{0}));
  EXPECT_EQ(result.cost, 10);
  EXPECT_EQ(result.stop_reason, StopReason::kSolved);
}

TEST(AnytimeBeamSearch, ABeamThatKeptAllStatesIsNotRepeated) {
  const RingDomain ring(100);
  StandInEvaluator truth(&RingDomain::Estimate);
  BeamSearch once(ring, truth, {.search = {.beam_width = 64}});
  AnytimeBeamSearch search(ring, truth, {.search = {.beam_width = 100'000, .max_seconds = kAmple}});
  EXPECT_EQ(search.Solve(ring.At(37), StopSignal()).nodes,
            once.Solve(ring.At(37), StopSignal()).nodes);
  const std::vector<std::uint8_t> no_marker(100, 0);
  EXPECT_EQ(search.Solve(no_marker, StopSignal()).stop_reason, StopReason::kExhausted);
}

TEST(AnytimeBeamSearch, AStartInTheBallNeedsNoWiderBeams) {
  StandInEvaluator truth(&RingDomain::Estimate);
  const RingDomain equal(12);
  const RingDomain unequal(12, {1, 6});
  for (const RingDomain* ring : {&equal, &unequal}) {
    AnytimeBeamSearch search(
        *ring, truth, {.search = {.beam_width = 100'000, .max_seconds = kAmple}}, BallOf(*ring, 4));
    const SearchResult result = search.Solve(ring->At(4), StopSignal());
    EXPECT_EQ(result.actions, std::vector<Action>(4, Action{0}));
    EXPECT_LE(result.expanded, 1);
  }
}

}  // namespace
}  // namespace tandem
