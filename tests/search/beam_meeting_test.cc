#include "search/beam_meeting.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "domain/moves.h"
#include "search/search.h"
#include "support/small_puzzles.h"

namespace tandem {
namespace {

using Actions = std::vector<Action>;

TEST(BeamPaths, FollowsParentsBackToTheStart) {
  BeamPaths paths;
  EXPECT_EQ(paths.depth(), 0U);
  EXPECT_TRUE(paths.last_steps().empty());
  EXPECT_TRUE(paths.PathTo(0, 0).empty());
  paths.Add({{.parent = 0, .action = 3}, {.parent = 0, .action = 4}});
  paths.Add({{.parent = 1, .action = 5}, {.parent = 0, .action = 6}});
  EXPECT_EQ(paths.depth(), 2U);
  EXPECT_EQ(paths.last_steps().size(), 2U);
  EXPECT_EQ(paths.PathTo(0, 2), (Actions{4, 5}));
  EXPECT_EQ(paths.PathTo(1, 2), (Actions{3, 6}));
  EXPECT_EQ(paths.PathTo(1, 1), (Actions{4}));
  EXPECT_EQ(paths.PathBy({.parent = 1, .action = 7}, 2), (Actions{3, 6, 7}));
  paths.Clear();
  EXPECT_EQ(paths.depth(), 0U);
}

// Two flips lead to the goal. One beam takes the first of them from the start, and the other one
// takes the inverse of the second from the goal.
class TwoFlips : public testing::Test {
 protected:
  TwoFlips() { UndoAll(pancakes_, solution_, start_); }

  void MeetHalfway(std::int64_t max_length) {
    meeting_.Begin(start_, max_length);
    const Action back = pancakes_.spec().inverse_actions[solution_[1]];
    paths_.Add({{.parent = 0, .action = solution_[0]}, {.parent = 1, .action = back}});
    meeting_.Advance(paths_, std::vector<double>{1, 1}, std::vector<std::uint8_t>{0, 1});
  }

  const PancakeDomain pancakes_{6};
  const Actions solution_ = {1, 3};
  State start_ = GoalOf(pancakes_);
  const InverseFrame inverse_{pancakes_};
  BeamPaths paths_;
  BeamMeeting meeting_{pancakes_, inverse_};
};

TEST_F(TwoFlips, EqualPositionsGiveTheSolution) {
  meeting_.Begin(start_, 10);
  EXPECT_EQ(meeting_.CheapestSolution(paths_, CostBound(0)), std::nullopt);
  MeetHalfway(10);
  EXPECT_EQ(meeting_.CheapestSolution(paths_, CostBound(0)), solution_);
  EXPECT_EQ(meeting_.CheapestSolution(paths_, CostBound(2)), solution_);
}

TEST_F(TwoFlips, SolutionsThatCostTooMuchDoNotCount) {
  MeetHalfway(10);
  EXPECT_EQ(meeting_.CheapestSolution(paths_, CostBound(1)), std::nullopt);
}

TEST_F(TwoFlips, SolutionsThatAreTooLongDoNotCount) {
  MeetHalfway(1);
  EXPECT_EQ(meeting_.CheapestSolution(paths_, CostBound(0)), std::nullopt);
}

TEST_F(TwoFlips, ClearForgetsTheMeeting) {
  MeetHalfway(10);
  EXPECT_GT(meeting_.BytesWith(0), 0U);
  meeting_.Clear();
  EXPECT_EQ(meeting_.CheapestSolution(paths_, CostBound(0)), std::nullopt);
}

TEST_F(TwoFlips, PathsOfOneBeamDoNotMeet) {
  meeting_.Begin(start_, 10);
  paths_.Add({{.parent = 0, .action = solution_[0]}, {.parent = 0, .action = solution_[0]}});
  meeting_.Advance(paths_, std::vector<double>{1, 1}, std::vector<std::uint8_t>{0, 0});
  EXPECT_EQ(meeting_.CheapestSolution(paths_, CostBound(0)), std::nullopt);
}

// The swaps 0, 2 and 4, which commute, lead to the goal. So the beams meet in three positions, two
// swaps from the start and one swap from the goal.
class ThreeSwaps : public testing::Test {
 protected:
  using Steps = std::vector<BeamPaths::Step>;

  ThreeSwaps() { UndoAll(swaps_, Actions{0, 2, 4}, start_); }

  // The paths of one swap in both beams, and `seconds`, which goes on with those from the start.
  static BeamPaths PathsWith(const Steps& seconds) {
    BeamPaths paths;
    paths.Add({{.parent = 0, .action = 0},
               {.parent = 0, .action = 2},
               {.parent = 0, .action = 4},
               {.parent = 1, .action = 0},
               {.parent = 1, .action = 2},
               {.parent = 1, .action = 4}});
    if (!seconds.empty()) paths.Add(seconds);
    return paths;
  }

  // Paths 0 and 3 of two swaps lead to the same position.
  void Meet(const std::vector<double>& costs) {
    meeting_.Begin(start_, 10);
    meeting_.Advance(PathsWith({}), std::vector<double>(6, 1),
                     std::vector<std::uint8_t>{0, 0, 0, 1, 1, 1});
    meeting_.Advance(paths_, costs, std::vector<std::uint8_t>(4, 0));
  }

  const SwapDomain swaps_{{1, 1, 1, 1, 1}};
  State start_ = GoalOf(swaps_);
  const InverseFrame inverse_{swaps_};
  const BeamPaths paths_ = PathsWith({{.parent = 0, .action = 2},
                                      {.parent = 1, .action = 4},
                                      {.parent = 2, .action = 0},
                                      {.parent = 1, .action = 0}});
  BeamMeeting meeting_{swaps_, inverse_};
};

TEST_F(ThreeSwaps, TheCheapestPairGivesTheSolution) {
  Meet({4, 2, 3, 4});
  EXPECT_EQ(meeting_.CheapestSolution(paths_, CostBound(0)), (Actions{2, 4, 0}));
}

TEST_F(ThreeSwaps, ACheaperPathToAPositionTakesThePlaceOfAnother) {
  Meet({4, 3, 3, 1});
  EXPECT_EQ(meeting_.CheapestSolution(paths_, CostBound(0)), (Actions{2, 0, 4}));
}

// Paths that do not lead to the positions with their hashes stand for hashes that collide.
TEST_F(ThreeSwaps, TheNextPairTakesThePlaceOfOneWhosePathsDoNotMeet) {
  Meet({2, 2, 2, 2});
  EXPECT_EQ(meeting_.CheapestSolution(paths_, CostBound(0)), (Actions{0, 2, 4}));
  const BeamPaths first_is_wrong = PathsWith({{.parent = 0, .action = 0},
                                              {.parent = 1, .action = 4},
                                              {.parent = 2, .action = 0},
                                              {.parent = 1, .action = 0}});
  EXPECT_EQ(meeting_.CheapestSolution(first_is_wrong, CostBound(0)), (Actions{2, 4, 0}));
  const BeamPaths all_are_wrong = PathsWith({{.parent = 0, .action = 0},
                                             {.parent = 1, .action = 2},
                                             {.parent = 2, .action = 4},
                                             {.parent = 1, .action = 2}});
  EXPECT_EQ(meeting_.CheapestSolution(all_are_wrong, CostBound(0)), std::nullopt);
}

}  // namespace
}  // namespace tandem
