// Tests of beam search from both ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "search/search.h"
#include "support/erratic_evaluator.h"
#include "support/path_domain.h"
#include "support/small_puzzles.h"
#include "tandem/error.h"

namespace tandem {
namespace {

Config Bidirectional(std::int64_t width) {
  return {.search = {.method = SearchMethod::kBidirectionalBeam, .beam_width = width}};
}

TEST(BidirectionalBeam, BeamsThatHoldAllStatesMeetOnShortestSolutions) {
  const PancakeDomain pancakes(6);
  const StateMap distances = Distances(pancakes);
  for (const Head head : {Head::kV, Head::kQ, Head::kPolicy}) {
    ErraticEvaluator network(head);
    const auto search = MakeSearch(pancakes, network, Bidirectional(2000));
    for (const auto& [state, distance] : distances) {
      const SearchResult result = search->Solve(state, StopSignal());
      ASSERT_TRUE(result.solved);
      ASSERT_EQ(result.stop_reason, StopReason::kSolved);
      ASSERT_TRUE(Solves(pancakes, state, result.actions));
      ASSERT_EQ(std::ssize(result.actions), distance);
      ASSERT_EQ(result.cost, static_cast<float>(distance));
    }
  }
}

TEST(BidirectionalBeam, ExpandsFewerStatesThanBeamSearch) {
  const PancakeDomain pancakes(6);
  const StateMap distances = Distances(pancakes);
  const auto farthest =
      std::ranges::max_element(distances, {}, [](const auto& entry) { return entry.second; });
  ErraticEvaluator network;
  Config config = Bidirectional(2000);
  const SearchResult both = MakeSearch(pancakes, network, config)->Solve(farthest->first, {});
  config.search.method = SearchMethod::kBeam;
  const SearchResult one = MakeSearch(pancakes, network, config)->Solve(farthest->first, {});
  EXPECT_EQ(both.actions.size(), one.actions.size());
  EXPECT_LT(both.expanded, one.expanded / 2);
}

TEST(BidirectionalBeam, NarrowBeamsGiveValidSolutionsWithinTheLimits) {
  const PancakeDomain pancakes(6);
  for (const Head head : {Head::kV, Head::kQ}) {
    ErraticEvaluator network(head);
    Config config = Bidirectional(20);
    config.search.max_length = 9;
    config.search.at_most = 8;
    const auto search = MakeSearch(pancakes, network, config);
    int solved = 0;
    for (const auto& [state, distance] : Distances(pancakes)) {
      const SearchResult result = search->Solve(state, StopSignal());
      if (!result.solved) continue;
      ++solved;
      ASSERT_TRUE(Solves(pancakes, state, result.actions));
      ASSERT_LE(result.actions.size(), 8U);
    }
    EXPECT_GT(solved, 0);
  }
}

TEST(BidirectionalBeam, BallCompletesSolutionsFromBothEnds) {
  const PancakeDomain pancakes(6);
  ErraticEvaluator network;
  Config config = Bidirectional(2000);
  config.search.ball_radius = 2;
  const auto search = MakeSearch(pancakes, network, config);
  for (const auto& [state, distance] : Distances(pancakes)) {
    const SearchResult result = search->Solve(state, StopSignal());
    ASSERT_TRUE(Solves(pancakes, state, result.actions));
    ASSERT_EQ(std::ssize(result.actions), distance);
  }
}

TEST(BidirectionalBeam, PuzzlesWithoutASolutionEndTheSearch) {
  const CycleDomain cycles(5);
  ErraticEvaluator network;
  const auto search = MakeSearch(cycles, network, Bidirectional(1000));
  const SearchResult result = search->Solve(State{1, 0, 2, 3, 4}, StopSignal());  // odd
  EXPECT_FALSE(result.solved);
  EXPECT_EQ(result.stop_reason, StopReason::kExhausted);
}

TEST(BidirectionalBeam, RefusesPuzzlesWithoutInversePositions) {
  const PathDomain path(4);
  ErraticEvaluator network;
  try {
    MakeSearch(path, network, Bidirectional(10));
    FAIL() << "expected InputError";
  } catch (const InputError& error) {
    EXPECT_EQ(
        std::string(error.what()),
        "search.method: bidirectional_beam: path: only puzzles from a file of "
        "permutations and those of class PermutationDomain know the inverse of a position. Set "
        "search.method to beam.");
  }
}

// Numbers on a ring, which turn by 1 or by 35 cells. To turn them by 4 takes four cheap steps or
// three dear ones, because 3 * 35 = 101 + 4.
class TurnsDomain final : public PermutationDomain {
 public:
  static constexpr int kCells = 101;

  TurnsDomain()
      : PermutationDomain({.name = "turns",
                           .summary = "for tests",
                           .action_names = {"l", "r", "L", "R"},
                           .action_costs = {1, 1, 10, 10}},
                          Turned<State>(0), {Turned(1), Turned(-1), Turned(35), Turned(-35)}) {}
  void ParseState(std::string_view, std::span<std::uint8_t>) const override {}
  std::string FormatState(std::span<const std::uint8_t>) const override { return "turns"; }

  template <class Row = Permutation>
  static Row Turned(int by) {
    Row turned;
    for (int i = 0; i < kCells; ++i) {
      turned.push_back(static_cast<std::uint8_t>((i + by + kCells) % kCells));
    }
    return turned;
  }
};

TEST(BidirectionalBeam, TooLongSolutionHidesNoOtherOne) {
  const TurnsDomain turns;
  ErraticEvaluator network;
  Config config = Bidirectional(1000);
  const auto start = TurnsDomain::Turned<State>(4);
  const auto solve = [&](std::int64_t max_length) {
    config.search.max_length = max_length;
    return MakeSearch(turns, network, config)->Solve(start, StopSignal());
  };
  EXPECT_EQ(solve(4).cost, 4);
  const SearchResult three = solve(3);
  ASSERT_TRUE(three.solved);
  EXPECT_EQ(three.cost, 30);
  EXPECT_TRUE(Solves(turns, start, three.actions));
}

}  // namespace
}  // namespace tandem
