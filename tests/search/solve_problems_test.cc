#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "search/problems.h"
#include "support/ring_domain.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Action kLeft = 0;

// Records what it is asked, and takes the marker to the left as often as it is told to.
class StepsToTheLeft final : public Search {
 public:
  explicit StepsToTheLeft(std::vector<std::size_t> steps) : steps_(std::move(steps)) {}

  void SolveAll(const ProblemBatch& problems, const StopSignal& /*stop*/,
                const Done& done) override {
    for (std::size_t i = 0; i < problems.size(); ++i) {
      cells.push_back(std::ranges::find(problems.states[i], 1) - problems.states[i].begin());
      at_most.push_back(problems.at_most[i]);
    }
    for (std::size_t i = problems.size(); i-- > 0;) {  // in the order in which they end
      const std::vector<Action> actions(steps_[i], kLeft);
      done(i, {.solved = !actions.empty(), .actions = actions});
    }
  }
  std::string Describe() const override { return "steps to the left"; }
  std::string_view MainKey() const override { return ""; }
  std::string Failure(const SearchResult& /*result*/) const override { return "no step"; }

  std::vector<std::ptrdiff_t> cells;  // of the starts
  std::vector<float> at_most;

 private:
  std::vector<std::size_t> steps_;
};

class SolveProblemsTest : public testing::Test {
 protected:
  Problem At(std::size_t cell) const { return {.state = ring_.At(cell)}; }

  const RingDomain ring_{6, {2, 1}};
  const StopSignal never_;
};

TEST_F(SolveProblemsTest, ResultsHaveTheNumbersOfTheirProblemsWithoutThoseThatCannotBeRead) {
  const std::vector<Problem> problems = {At(1), {.error = "no state"}, At(2), At(3)};
  StepsToTheLeft search({1, 0, 3});
  std::vector<std::size_t> numbers;
  std::vector<bool> solved;
  SolveProblems(problems, ring_, search, never_, [&](std::size_t number, SearchResult result) {
    numbers.push_back(number);
    solved.push_back(result.solved);
  });
  EXPECT_THAT(search.cells, ElementsAre(1, 2, 3));
  EXPECT_THAT(numbers, ElementsAre(3, 2, 0));
  EXPECT_THAT(solved, ElementsAre(true, false, true));
}

TEST_F(SolveProblemsTest, AllowedCostIsTheLesserOfTheLimitAndAKnownSolution) {
  std::vector<Problem> problems(4, At(3));
  problems[1].at_most = 5;
  problems[2].solution = {kLeft, kLeft, kLeft};  // which costs 6
  problems[3] = problems[2];
  problems[3].at_most = 5;
  StepsToTheLeft search({0, 0, 0, 0});
  SolveProblems(problems, ring_, search, never_, [](std::size_t, const SearchResult&) {});
  EXPECT_THAT(search.at_most, ElementsAre(0, 5, 6, 5));
}

TEST_F(SolveProblemsTest, ASolutionShorterThanTheShortestOneIsAWarning) {
  std::vector<Problem> problems(3, At(2));
  problems[0].optimal = 2;
  problems[1].optimal = 9;
  problems[1].id = "odd";
  problems[2].optimal = 9;  // not solved
  StepsToTheLeft search({2, 2, 0});
  testing::internal::CaptureStderr();
  SolveProblems(problems, ring_, search, never_, [](std::size_t, const SearchResult&) {});
  const std::string warnings = testing::internal::GetCapturedStderr();
  EXPECT_THAT(warnings, HasSubstr(R"(state "odd": `optimal` is 9, but a solution has 2 moves)"));
  EXPECT_EQ(std::ranges::count(warnings, '\n'), 1);
}

TEST_F(SolveProblemsTest, MovesThatDoNotLeadToAGoalAreABug) {
  StepsToTheLeft search({2});
  EXPECT_THAT(
      [&] {
        SolveProblems({At(1)}, ring_, search, never_, [](std::size_t, const SearchResult&) {});
      },
      testing::ThrowsMessage<Error>(HasSubstr("the moves l l do not solve the puzzle")));
  EXPECT_NO_THROW(CheckByReplay(ring_, ring_.At(2), {kLeft, kLeft}));
}

}  // namespace
}  // namespace tandem
