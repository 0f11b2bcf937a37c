#include "search/beam_meeting.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

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
  TwoFlips() {
    start_.resize(static_cast<std::size_t>(pancakes_.spec().state_size));
    pancakes_.WriteGoals(Rows(std::span(start_)));
    UndoAll(pancakes_, solution_, start_);
  }

  void MeetHalfway(std::int64_t max_length) {
    meeting_.Begin(start_, max_length);
    const Action back = pancakes_.spec().inverse_actions[solution_[1]];
    paths_.Add({{.parent = 0, .action = solution_[0]}, {.parent = 1, .action = back}});
    meeting_.Advance(paths_, std::vector<float>{1, 1}, std::vector<std::uint8_t>{0, 1});
  }

  const PancakeDomain pancakes_{6};
  const Actions solution_ = {1, 3};
  State start_;
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
  meeting_.Clear();
  EXPECT_EQ(meeting_.CheapestSolution(paths_, CostBound(0)), std::nullopt);
}

}  // namespace
}  // namespace tandem
