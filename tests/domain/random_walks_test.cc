#include "domain/random_walks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/path_domain.h"
#include "support/pits_domain.h"
#include "support/random_puzzles.h"
#include "support/ring_domain.h"
#include "support/small_puzzles.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

State StateOf(const RandomWalks& walks, std::size_t i) {
  return {walks.state(i).begin(), walks.state(i).end()};
}

// One walk, with the random numbers of row `row`.
RandomWalks Begun(const Domain& domain, std::uint64_t row, std::int64_t length,
                  WalkKind kind = WalkKind::kNoStepBack) {
  RandomWalks walks(domain, kind);
  const Random random(1, Purpose::kScramble, 0, row);
  walks.Begin({&random, 1}, {&length, 1});
  return walks;
}

TEST(RandomWalks, NeverUndoTheirLastStep) {
  const RingDomain ring(1000 % 251);
  for (std::uint64_t i = 0; i < 20; ++i) {
    RandomWalks walks = Begun(ring, i, 100);
    for (int step = 1; walks.Step(); ++step) {
      EXPECT_EQ(RingDomain::Distance(walks.state(0)), step);  // it must keep its direction
    }
  }
}

TEST(RandomWalks, DrawEveryAllowedAction) {
  const auto cube = MakeDomain("cube3");
  std::set<State> seen;
  State state(54);
  for (std::uint64_t i = 0; i < 3000; ++i) {
    WalkFromGoal(*cube, Random(1, Purpose::kScramble, 0, i), 2, state);
    seen.insert(state);
  }
  EXPECT_EQ(seen.size(), 114U);  // all cubes at distance 2, without the solved one
}

// A saved config reproduces its run only if the walks of a seed never change.
TEST(RandomWalks, WalkOfASeedNeverChanges) {
  const auto cube = MakeDomain("cube3");
  State state(54);
  WalkFromGoal(*cube, Random(1, Purpose::kScramble, 2, 3), 20, state);
  EXPECT_EQ(cube->FormatState(state), "FFBUUFRRBRLLFRFLDFBBUDFDDLBFBDBDBFLRLRDLLRLURURUUBUUDD");
}

TEST(RandomWalks, DistinctActionsAreTakenOnceAndThenTheStateStays) {
  const auto lights = MakeDomain("lights_out:3");
  RandomWalks walks = Begun(*lights, 0, 11, WalkKind::kDistinctActions);
  for (std::size_t step = 1; step <= 9; ++step) {
    walks.Step();
    EXPECT_EQ(std::set(walks.taken(0).begin(), walks.taken(0).end()).size(), step);
    EXPECT_EQ(walks.back(0), walks.taken(0).back());
  }
  const State end = StateOf(walks, 0);
  while (walks.Step()) {
    EXPECT_EQ(StateOf(walks, 0), end);
    EXPECT_EQ(walks.taken(0).size(), 9U);
  }
}

TEST(RandomWalks, TurnBackOnlyInDeadEnds) {
  const PathDomain path(5);
  RandomWalks walks = Begun(path, 0, 10);
  for (const int expected : {1, 2, 3, 4, 3, 2, 1, 0, 1, 2}) {
    walks.Step();
    EXPECT_EQ(walks.state(0)[0], expected);
  }
  EXPECT_FALSE(walks.Step());
}

TEST(RandomWalks, StayIfNoActionApplies) {
  const PathDomain point(1);
  RandomWalks walks = Begun(point, 0, 3);
  while (walks.Step()) {
  }
  EXPECT_EQ(walks.state(0)[0], 0);
  EXPECT_EQ(walks.cost_back(0), 0);
  EXPECT_FALSE(walks.back(0));
}

TEST(RandomWalks, SingleActionGoesBackAndForth) {
  const PancakeDomain two(2);
  RandomWalks walks = Begun(two, 0, 4);
  for (const int first : {1, 0, 1, 0}) {
    walks.Step();
    EXPECT_EQ(walks.state(0)[0], first);
  }
}

TEST(RandomWalks, EachHasItsOwnProblem) {
  for (const char* name : {"sokoban:7", "grid:8"}) {
    const auto domain = MakeDomain(name);
    std::set<State> problems;
    for (std::uint64_t i = 0; i < 20; ++i) {
      EXPECT_TRUE(problems.insert(StateOf(Begun(*domain, i, 1), 0)).second) << name << " " << i;
    }
  }
}

// An endless path that notes how many states each call of Apply has.
class CountedPath final : public Domain {
 public:
  CountedPath()
      : Domain({.name = "counted",
                .state_size = 1,
                .input = {.positions = 1, .depth = 256},
                .action_names = {"l", "r"},
                .inverse_actions = {1, 0}}) {}

  void WriteGoals(Rows states) const override { std::ranges::fill(states.bytes(), 128); }
  void Apply(Rows states, std::span<const Action> actions) const override {
    sizes_.push_back(states.size());
    for (std::size_t i = 0; i < states.size(); ++i) states[i][0] += actions[i] == 0 ? 255 : 1;
  }
  void IsGoal(ConstRows states, std::span<std::uint8_t> is_goal) const override {
    for (std::size_t i = 0; i < states.size(); ++i) is_goal[i] = states[i][0] == 128 ? 1 : 0;
  }
  void ParseState(std::string_view, std::span<std::uint8_t>) const override {}
  std::string FormatState(std::span<const std::uint8_t>) const override { return ""; }

  const std::vector<std::size_t>& sizes() const { return sizes_; }

 private:
  mutable std::vector<std::size_t> sizes_;
};

TEST(RandomWalks, CallTheDomainOnceForEachStepOfAllWalks) {
  const CountedPath path;
  RandomWalks walks(path);
  const std::vector<std::int64_t> lengths = {2, 0, 3, 1, 3};
  walks.Begin(std::vector<Random>(5, Random(1, Purpose::kScramble)), lengths);
  while (walks.Step()) {
  }
  EXPECT_EQ(path.sizes(), (std::vector<std::size_t>{4, 3, 2}));
}

// What a walk has after each number of steps.
struct Snapshot {
  State state;
  std::optional<Action> back;
  float cost_back = 0;
  std::optional<Action> next;  // if the puzzle's actions have inverses
  std::vector<Action> taken;   // of distinct actions
  bool operator==(const Snapshot&) const = default;
};

// A walk of one state, which follows the definition of RandomWalks and shares no code with it.
std::vector<Snapshot> OneWalk(const Domain& domain, Random random, std::int64_t length,
                              WalkKind kind) {
  const DomainSpec& spec = domain.spec();
  Snapshot walk{.state = State(static_cast<std::size_t>(spec.state_size))};
  const Rows row{std::span(walk.state)};
  const std::uint64_t seed = spec.per_problem_goals ? random.Next() : 0;
  domain.DrawGoals(row, {&seed, 1});
  std::vector<Action> rest(static_cast<std::size_t>(spec.num_actions()));
  std::iota(rest.begin(), rest.end(), Action{0});
  std::vector<Snapshot> snapshots;
  for (std::int64_t step = 0;; ++step) {
    if (spec.inverse_actions.empty()) {
      snapshots.push_back(walk);
      if (step == length) return snapshots;
      const std::uint64_t number = random.Next();
      std::optional<Action> back;
      domain.StepBack(row, {&number, 1}, {&back, 1});
      if (!back) continue;
      walk.back = back;
      walk.cost_back += spec.action_costs[*back];
      continue;
    }
    walk.next.reset();
    if (kind == WalkKind::kDistinctActions) {
      const std::size_t taken = walk.taken.size();
      if (taken < rest.size()) {
        std::swap(rest[taken], rest[taken + random.Below(rest.size() - taken)]);
        walk.next = rest[taken];
      }
    } else {
      std::vector<std::uint8_t> applies(static_cast<std::size_t>(spec.num_actions()));
      domain.Mask(row, applies);
      std::vector<Action> choices;
      for (Action action = 0; action < applies.size(); ++action) {
        if (applies[action] != 0) choices.push_back(action);
      }
      if (walk.back && choices.size() > 1) std::erase(choices, *walk.back);
      if (!choices.empty()) walk.next = choices[random.Below(choices.size())];
    }
    snapshots.push_back(walk);
    if (step == length) return snapshots;
    if (!walk.next) continue;
    domain.Apply(row, {&*walk.next, 1});
    walk.back = spec.inverse_actions[*walk.next];
    walk.cost_back += spec.action_costs[*walk.back];
    if (kind == WalkKind::kDistinctActions) walk.taken.push_back(*walk.next);
  }
}

// Compares walks of different lengths, begun together, with walks of one state after each step.
void ExpectSameAsOneByOne(const Domain& domain, Dice& dice, WalkKind kind) {
  constexpr std::int64_t kLongest = 12;
  const std::string& name = domain.spec().name;
  const bool has_inverses = !domain.spec().inverse_actions.empty();
  std::vector<Random> randoms;
  std::vector<std::int64_t> lengths;
  std::vector<std::vector<Snapshot>> expected;
  for (std::uint64_t i = 0; i < 40; ++i) {
    randoms.emplace_back(7, Purpose::kScramble, 0, i);
    lengths.push_back(static_cast<std::int64_t>(dice.Number(0, kLongest)));
    expected.push_back(OneWalk(domain, randoms.back(), lengths.back(), kind));
  }
  RandomWalks walks(domain, kind);
  walks.Begin(randoms, lengths);
  for (std::int64_t step = 0; step <= kLongest; ++step) {
    const bool asks = has_inverses && dice.Chance(0.5);
    if (asks) walks.DrawActions();
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      const bool has_ended = step >= lengths[i];
      const Snapshot& one = expected[i][static_cast<std::size_t>(std::min(step, lengths[i]))];
      EXPECT_EQ(StateOf(walks, i), one.state) << name << " " << step << " " << i;
      EXPECT_EQ(walks.back(i), one.back);
      EXPECT_EQ(walks.cost_back(i), one.cost_back);
      if (asks && !has_ended) {
        EXPECT_EQ(walks.next(i), one.next);
      }
      if (kind != WalkKind::kDistinctActions) continue;
      EXPECT_EQ(std::vector(walks.taken(i).begin(), walks.taken(i).end()), one.taken);
    }
    EXPECT_EQ(walks.Step(), step < std::ranges::max(lengths));
  }
}

TEST(RandomWalks, BesideOthersEqualWalksTakenOneByOneOnRandomGraphs) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Dice dice(seed);
    const RandomGraph graph(dice, /*reversible=*/true);
    ExpectSameAsOneByOne(graph, dice, WalkKind::kNoStepBack);
  }
}

TEST(RandomWalks, BesideOthersEqualWalksTakenOneByOneInPuzzles) {
  Dice dice(1);
  for (const char* name :
       {"cube3", "npuzzle:3", "grid:5", "sokoban:6", "hanoi:3", "lights_out:3"}) {
    ExpectSameAsOneByOne(*MakeDomain(name), dice, WalkKind::kNoStepBack);
  }
  ExpectSameAsOneByOne(*MakeDomain("lights_out:3"), dice, WalkKind::kDistinctActions);
  ExpectSameAsOneByOne(PathDomain(1), dice, WalkKind::kNoStepBack);
  ExpectSameAsOneByOne(PathDomain(4), dice, WalkKind::kNoStepBack);
  ExpectSameAsOneByOne(PancakeDomain(2), dice, WalkKind::kNoStepBack);
  ExpectSameAsOneByOne(PitsDomain(6), dice, WalkKind::kNoStepBack);
}

}  // namespace
}  // namespace tandem
