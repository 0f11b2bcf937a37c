#include "search/inverse_frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

#include "base/random.h"
#include "domain/moves.h"
#include "support/erratic_evaluator.h"
#include "support/goal_ball.h"
#include "support/path_domain.h"
#include "support/ring_domain.h"
#include "support/searches.h"
#include "support/small_puzzles.h"
#include "support/stand_in_evaluator.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

std::vector<Action> RandomMoves(const Domain& domain, int count, std::uint64_t number) {
  Random random(7, Purpose::kScramble, 0, number);
  std::vector<Action> moves;
  for (int i = 0; i < count; ++i) {
    moves.push_back(
        static_cast<Action>(random.Below(static_cast<std::uint64_t>(domain.spec().num_actions()))));
  }
  return moves;
}

class InverseOf : public testing::TestWithParam<const char*> {};

TEST_P(InverseOf, APositionIsReachedByTheInverseMovesInReverse) {
  const auto domain = MakeDomain(GetParam());
  const InverseFrame frame(*domain);
  for (std::uint64_t i = 0; i < 20; ++i) {
    const std::vector<Action> moves = RandomMoves(*domain, 30, i);
    const State state = After(*domain, GoalOf(*domain), moves);
    const auto inverse = frame.Invert(state);
    ASSERT_TRUE(inverse.has_value());
    EXPECT_EQ(*inverse, After(*domain, GoalOf(*domain), frame.Translate(moves)));
    EXPECT_EQ(frame.Invert(*inverse), state);
    // The moves solve the inverse position.
    EXPECT_TRUE(Solves(*domain, *inverse, moves));
  }
}

INSTANTIATE_TEST_SUITE_P(All, InverseOf,
                         testing::Values("cube3", "cube3_htm", "cube3:pieces", "cube2",
                                         "permutation:megaminx", "permutation:pyraminx",
                                         "permutation:topspin", "permutation:lrx"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, ':', '_');
                           return name;
                         });

std::string ReasonAgainst(const Domain& domain) {
  try {
    const InverseFrame frame(domain);
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST(InverseFrame, RefusesPuzzlesWithoutInversePositions) {
  using testing::HasSubstr;
  EXPECT_THAT(ReasonAgainst(PathDomain(4)), HasSubstr("PermutationDomain know the inverse"));
  EXPECT_THAT(ReasonAgainst(*MakeDomain("permutation:cube4")),
              HasSubstr("the goal looks the same at positions"));
  EXPECT_THAT(ReasonAgainst(RingDomain(5, {1, 3})),
              HasSubstr("the action l costs 1, but its inverse r costs 3"));
}

TEST(InverseFrame, AStateOutsideThePuzzleHasNoInverse) {
  const auto cube = MakeDomain("cube3");
  State state = GoalOf(*cube);
  std::swap(state[0], state[9]);  // a corner whose colours do not exist
  EXPECT_EQ(InverseFrame(*cube).Invert(state), std::nullopt);
}

TEST(InverseFrame, BeamSearchSolvesThroughTheInverse) {
  const PancakeDomain pancakes(6);
  const StateMap distances = Distances(pancakes);
  const InverseFrame frame(pancakes);
  // Only positions from which the inverse of `start` is solved have a low estimate, so the beam of
  // one state follows the inverse.
  const State start = {3, 5, 0, 4, 1, 2};
  const State inverse = *frame.Invert(start);
  ASSERT_NE(inverse, start);
  std::set<State, ByBytes> way;
  State at = inverse;
  for (const Action action : ShortestWay(pancakes, inverse, 10)) {
    at = After(pancakes, at, {action});
    way.insert(at);
  }
  StandInEvaluator guide([&](std::span<const std::uint8_t> state) {
    return way.contains(State(state.begin(), state.end())) ? 0.0F : 50.0F;
  });
  BeamSearch search(pancakes, guide,
                    {.search = {.beam_width = 1, .max_length = 20, .inverse = UseInverse::kYes}});
  const SearchResult result = search.Solve(start, StopSignal());
  ASSERT_TRUE(result.solved);
  EXPECT_EQ(result.actions.size(), static_cast<std::size_t>(distances.at(start)));
  EXPECT_TRUE(Solves(pancakes, start, result.actions));
}

TEST(InverseFrame, BeamSearchSolvesEveryStateFromBothEnds) {
  const PancakeDomain pancakes(5);
  StandInEvaluator erratic(
      [](std::span<const std::uint8_t> state) { return float(state[0]) + float(state[3]) / 2; });
  BeamSearch search(pancakes, erratic,
                    {.search = {.beam_width = 60, .max_length = 20, .inverse = UseInverse::kYes}});
  for (const auto& [state, distance] : Distances(pancakes)) {
    const SearchResult result = search.Solve(state, StopSignal());
    ASSERT_TRUE(result.solved);
    ASSERT_TRUE(Solves(pancakes, state, result.actions));
    ASSERT_GE(result.actions.size(), static_cast<std::size_t>(distance));
  }
}

TEST(InverseFrame, SolutionsOfTheInverseGoOnThroughTheBall) {
  const PancakeDomain pancakes(6);
  const auto ball = BallOf(pancakes, 2);
  StandInEvaluator erratic(
      [](std::span<const std::uint8_t> state) { return float(state[0]) + float(state[3]) / 2; });
  BeamSearch search(pancakes, erratic,
                    {.search = {.beam_width = 1000, .max_length = 20, .inverse = UseInverse::kYes}},
                    ball);
  for (const auto& [state, distance] : Distances(pancakes)) {
    const SearchResult result = search.Solve(state, StopSignal());
    ASSERT_TRUE(result.solved);
    ASSERT_TRUE(Solves(pancakes, state, result.actions));
    ASSERT_EQ(std::ssize(result.actions), distance);  // the beam holds all states
  }
}

TEST(InverseFrame, IsMadeOnlyIfAskedFor) {
  const PancakeDomain pancakes(5);
  const PathDomain path(4);
  EXPECT_FALSE(MakeInverseFrame(pancakes, {.inverse = UseInverse::kNo}).has_value());
  EXPECT_TRUE(MakeInverseFrame(pancakes, {.inverse = UseInverse::kAuto}).has_value());
  EXPECT_FALSE(MakeInverseFrame(path, {.inverse = UseInverse::kAuto}).has_value());
  EXPECT_THROW(MakeInverseFrame(path, {.inverse = UseInverse::kYes}), InputError);
}

TEST(InverseFrame, AFailedSearchReportsAPathOfThePosition) {
  const CycleDomain cycles(6);
  StandInEvaluator number(NumberOf);
  BeamSearch search(cycles, number,
                    {.search = {.beam_width = 6, .max_length = 5, .inverse = UseInverse::kYes}});
  const State start = {1, 0, 3, 4, 2, 5};  // odd, so no moves solve it
  ASSERT_NE(InverseFrame(cycles).Invert(start), start);
  const SearchResult result = search.Solve(start, StopSignal());
  ASSERT_FALSE(result.solved);
  ASSERT_TRUE(result.best.has_value());
  const State end = After(cycles, start, result.best->actions);
  EXPECT_EQ(result.best->estimate, NumberOf(end));
}

}  // namespace
}  // namespace tandem
