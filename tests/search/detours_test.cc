#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "domain/moves.h"
#include "search/problems.h"
#include "search/search.h"
#include "support/long_way.h"
#include "support/small_puzzles.h"
#include "tandem/puzzle.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Any actions, whether they apply or not.
std::vector<Action> RandomActions(const Domain& domain, std::size_t count, std::uint64_t number) {
  Random random(5, Purpose::kScramble, 0, number);
  std::vector<Action> actions(count);
  for (Action& action : actions) {
    action =
        static_cast<Action>(random.Below(static_cast<std::uint64_t>(domain.spec().num_actions())));
  }
  return actions;
}

std::vector<Action> Without(std::vector<Action> actions, std::size_t i) {
  actions.erase(actions.begin() + static_cast<std::ptrdiff_t>(i));
  return actions;
}

std::vector<Action> First(const std::vector<Action>& actions, std::size_t count) {
  return {actions.begin(), actions.begin() + static_cast<std::ptrdiff_t>(count)};
}

TEST(WithoutDetours, PressesEachLightThatCountsOnce) {
  const auto lights = MakeDomain("lights_out:7");
  for (std::uint64_t number = 0; number < 20; ++number) {
    const std::vector<Action> actions = RandomActions(*lights, 200, number);
    std::set<Action> odd;
    for (const Action action : actions) {
      if (!odd.insert(action).second) odd.erase(action);
    }
    const std::vector<Action> direct = WithoutDetours(*lights, GoalOf(*lights), actions);
    EXPECT_EQ(direct.size(), odd.size());
    EXPECT_EQ(std::set<Action>(direct.begin(), direct.end()), odd);
  }
}

TEST(WithoutDetours, LeavesOutTurnsThatCommutingTurnsSeparate) {
  const auto cube = MakeDomain("cube3");
  const auto direct = [&](const std::string& turns) {
    return FormatActions(cube->spec(),
                         WithoutDetours(*cube, GoalOf(*cube), ParseActions(cube->spec(), turns)));
  };
  EXPECT_EQ(direct("R L R'"), "L");
  EXPECT_EQ(direct("F R L L R' B"), "F L L B");
  EXPECT_EQ(direct("F R U R'"), "F R U R'");
  EXPECT_EQ(direct("U D U' D'"), "");
}

// Puzzles with actions that do not always apply, with several goals, and without inverses.
TEST(WithoutDetours, LeavesNoActionOutOfWhichTheRestCanDo) {
  for (const std::string name : {"cube2", "npuzzle:3", "sokoban:5", "grid:5", "hanoi:3"}) {
    const auto domain = MakeDomain(name);
    for (std::uint64_t number = 0; number < 10; ++number) {
      const State start = GoalOf(*domain);
      const std::vector<Action> actions = RandomActions(*domain, 60, number);
      const std::vector<Action> direct = WithoutDetours(*domain, start, actions);
      ASSERT_EQ(After(*domain, start, direct), After(*domain, start, actions)) << name;
      std::set<State, ByBytes> later;
      for (std::size_t end = direct.size() + 1; end-- > 0;) {
        const State state = After(*domain, start, First(direct, end));
        for (std::size_t i = 0; i < end; ++i) {
          EXPECT_FALSE(later.contains(After(*domain, start, Without(First(direct, end), i))))
              << name << " without action " << i << " of " << end;
        }
        EXPECT_TRUE(later.insert(state).second) << name;
      }
    }
  }
}

TEST(WithoutDetours, LeavesOutActionsThatChangeNothing) {
  const PancakeDomain pancakes(4);
  EXPECT_THAT(WithoutDetours(pancakes, GoalOf(pancakes), {}), IsEmpty());
  EXPECT_THAT(WithoutDetours(pancakes, GoalOf(pancakes), {1}), ElementsAre(1));
  EXPECT_THAT(WithoutDetours(pancakes, GoalOf(pancakes), {1, 1, 0}), ElementsAre(0));
  EXPECT_THAT(WithoutDetours(pancakes, GoalOf(pancakes), {2, 1, 1, 2}), IsEmpty());
}

// A switch, and a counter of two bytes.
struct SwitchAndCounter {
  static constexpr int kActions = 3;
  static constexpr int kDepth = 256;
  using State = std::array<std::uint8_t, 3>;
  static State Goal() { return {}; }
  static bool IsGoal(const State& state) { return state == Goal(); }
  static void Apply(State& state, int action) {
    if (action == 0) state[0] ^= 1;
    if (action == 1 && ++state[1] == 0) ++state[2];
    if (action == 2 && state[1]-- == 0) --state[2];
  }
  static int Inverse(int action) { return (3 - action) % 3; }
};

TEST(WithoutDetours, LooksAtThe256ActionsAfterAnAction) {
  const PuzzleDomain<SwitchAndCounter> puzzle("switch");
  for (const std::size_t between : {255, 256}) {
    std::vector<Action> actions(between + 2, 1);
    actions.front() = actions.back() = 0;
    EXPECT_EQ(WithoutDetours(puzzle, GoalOf(puzzle), actions).size(),
              between == 255 ? between : actions.size());
  }
}

TEST(WithoutDetours, LeavesOutPartsOfAnyLengthThatReturn) {
  const PuzzleDomain<SwitchAndCounter> puzzle("switch");
  std::vector<Action> actions(601, 1);
  actions.front() = 0;
  std::fill_n(actions.end() - 300, 300, Action{2});
  EXPECT_THAT(WithoutDetours(puzzle, GoalOf(puzzle), actions), ElementsAre(0));
}

TEST(SolveAndReplay, ShortensSolutionsAndLeavesTheRestOfAResultAlone) {
  const SwapDomain swaps({1, 2, 3});
  const std::vector<Action> solution = {0, 2, 0, 1};  // 0 and 2 commute
  State start = GoalOf(swaps);
  UndoAll(swaps, solution, start);
  State both = start;
  both.insert(both.end(), start.begin(), start.end());
  LongWay search(solution);
  std::vector<SearchResult> results(2);
  SolveAndReplay(swaps, search, ConstRows(both.data(), 2, start.size()), StopSignal(),
                 [&](std::size_t i, SearchResult result) { results[i] = std::move(result); });
  EXPECT_THAT(results[0].actions, ElementsAre(2, 1));
  EXPECT_EQ(results[0].cost, 5);
  EXPECT_FALSE(results[1].solved);
  EXPECT_THAT(results[1].best->actions, ElementsAre(0));
}

}  // namespace
}  // namespace tandem
