#include "generate/retrograde.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <vector>

#include "generate/generator.h"
#include "support/generator_config.h"
#include "support/small_puzzles.h"
#include "support/two_goals_domain.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

State ParsedState(const Domain& domain, std::string_view text) {
  State state(static_cast<std::size_t>(domain.spec().state_size));
  domain.ParseState(text, state);
  return state;
}

// The distance of every state that actions lead to from `start`, to the nearest goal. States
// without a way to a goal have the distance -1. By repeated sweeps over all states.
std::map<State, int, ByBytes> SweptDistances(const Domain& domain, const State& start) {
  std::map<State, int, ByBytes> distances = {{start, -1}};
  std::vector<State> open = {start};
  while (!open.empty()) {
    const State state = open.back();
    open.pop_back();
    for (int a = 0; a < domain.spec().num_actions(); ++a) {
      State child = After(domain, state, {static_cast<Action>(a)});
      if (distances.emplace(child, -1).second) open.push_back(std::move(child));
    }
  }
  for (auto& [state, distance] : distances) distance = Solves(domain, state, {}) ? 0 : -1;
  for (bool changed = true; changed;) {
    changed = false;
    for (auto& [state, distance] : distances) {
      for (int a = 0; a < domain.spec().num_actions(); ++a) {
        const int next = distances.at(After(domain, state, {static_cast<Action>(a)}));
        if (next < 0 || (distance >= 0 && distance <= next + 1)) continue;
        distance = next + 1;
        changed = true;
      }
    }
  }
  return distances;
}

// A room with two boxes. A box in a corner can never leave it.
constexpr std::string_view kRoom =
    "#######\n"
    "#.    #\n"
    "# $ $ #\n"
    "#  .  #\n"
    "#  @  #\n"
    "#######\n"
    "#######";

TEST(RetrogradeTable, HasExactlyTheStatesWithAWayToAGoalAndTheirDistances) {
  const auto sokoban = MakeDomain("sokoban:7");
  const std::map<State, int, ByBytes> distances =
      SweptDistances(*sokoban, ParsedState(*sokoban, kRoom));
  const State goal = ParsedState(*sokoban,
                                 "#######\n"
                                 "#*    #\n"
                                 "#     #\n"
                                 "#  *  #\n"
                                 "#  @  #\n"
                                 "#######\n"
                                 "#######");
  RetrogradeTable table(*sokoban);
  ASSERT_TRUE(table.Build(goal, 1'000'000));
  std::size_t dead = 0;
  std::size_t alive = 0;
  for (const auto& [state, distance] : distances) {
    ASSERT_EQ(table.Contains(state), distance >= 0);
    ++(distance >= 0 ? alive : dead);
  }
  EXPECT_GT(dead, 100U);
  EXPECT_GT(alive, 100U);
  std::size_t found = 0;
  for (std::size_t level = 0; level <= table.longest(); ++level) {
    ASSERT_LT(table.First(level), table.First(level + 1));
    for (std::uint32_t number = table.First(level); number < table.First(level + 1); ++number) {
      const std::span<const std::uint8_t> state = table.state(number);
      const auto known = distances.find(State(state.begin(), state.end()));
      if (known == distances.end()) continue;  // the start does not lead there
      ++found;
      ASSERT_EQ(known->second, static_cast<int>(level));
    }
  }
  EXPECT_EQ(found, alive);
}

TEST(RetrogradeTable, HasGoalsThatActionsDoNotLeadToFromTheDrawnOne) {
  // The player stands in a pocket that the box on its goal closes. Once outside, no way leads back
  // in, so the goals with the player outside lead to no goal with the player inside.
  const auto sokoban = MakeDomain("sokoban:8");
  const State drawn = ParsedState(*sokoban,
                                  "########\n"
                                  "####   #\n"
                                  "#@ *   #\n"
                                  "####   #\n"
                                  "########\n"
                                  "########\n"
                                  "########\n"
                                  "########");
  const State pushed_out = After(*sokoban, drawn, {3, 3});
  const std::map<State, int, ByBytes> distances = SweptDistances(*sokoban, drawn);
  ASSERT_EQ(distances.at(pushed_out), 7);
  RetrogradeTable table(*sokoban);
  ASSERT_TRUE(table.Build(drawn, 1'000'000));
  std::size_t found = 0;
  for (std::size_t level = 0; level <= table.longest(); ++level) {
    for (std::uint32_t number = table.First(level); number < table.First(level + 1); ++number) {
      const std::span<const std::uint8_t> state = table.state(number);
      const auto known = distances.find(State(state.begin(), state.end()));
      if (known == distances.end()) continue;
      ++found;
      ASSERT_EQ(known->second, static_cast<int>(level)) << sokoban->FormatState(state);
    }
  }
  EXPECT_EQ(found,
            std::ranges::count_if(distances, [](const auto& entry) { return entry.second >= 0; }));
}

TEST(RetrogradeTable, GivesUpAboveTheLimit) {
  const auto sokoban = MakeDomain("sokoban:7");
  State goal(49);
  sokoban->WriteGoals(Rows(std::span(goal)));
  RetrogradeTable table(*sokoban);
  ASSERT_TRUE(table.Build(goal, 1'000'000));
  const std::size_t size = table.size();
  EXPECT_TRUE(table.Build(goal, size));
  EXPECT_FALSE(table.Build(goal, size - 1));
}

Config ConfigFor(double dead_end_share, std::int64_t problem_rows = 100) {
  return GeneratorConfig({.target = Target::kRetrograde,
                          .problem_rows = problem_rows,
                          .dead_end_share = dead_end_share,
                          .dead_end_cost = 77,
                          .workers = 2});
}

DataBuffer Filled(const Domain& domain, const Config& config, FillRequest request) {
  const auto generator = MakeGenerator(domain, config, nullptr);
  EXPECT_FALSE(generator->needs_network());
  DataBuffer rows(generator->schema(), static_cast<std::size_t>(request.rows));
  generator->Fill(request, rows, StopSignal());
  return rows;
}

TEST(Retrograde, LabelsStatesWithTheirExactDistances) {
  const auto sokoban = MakeDomain("sokoban:6");
  const DataBuffer rows = Filled(*sokoban, ConfigFor(0.3), {.rows = 1000});
  int dead = 0;
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    const auto row = rows.column(kInputColumn)[i];
    const State state(row.begin(), row.end());
    const int distance = SweptDistances(*sokoban, state).at(state);
    ASSERT_EQ(rows.floats(kTargetColumn)[i], distance < 0 ? 77.0F : static_cast<float>(distance));
    if (distance < 0) ++dead;
  }
  EXPECT_GT(dead, 200);
  EXPECT_LT(dead, 400);
}

TEST(Retrograde, DrawsShortAndLongDistancesEquallyOften) {
  const auto sokoban = MakeDomain("sokoban:7");
  const DataBuffer rows = Filled(*sokoban, ConfigFor(0, 20'000), {.rows = 20'000});
  std::map<float, int> drawn;
  for (const float label : rows.floats(kTargetColumn)) ++drawn[label];
  const double expected = 20'000.0 / static_cast<double>(drawn.size());
  for (const auto& [label, times] : drawn) EXPECT_NEAR(times, expected, 6 * std::sqrt(expected));
}

TEST(Retrograde, RowsDependOnTheirNumbersOnly) {
  const auto sokoban = MakeDomain("sokoban:7");
  const DataBuffer all = Filled(*sokoban, ConfigFor(0.25), {.update = 3, .rows = 450});
  for (const auto& [first, count] : {std::pair(0, 130), {130, 20}, {150, 300}}) {
    const DataBuffer part =
        Filled(*sokoban, ConfigFor(0.25), {.update = 3, .first_row = first, .rows = count});
    for (std::size_t i = 0; i < part.rows(); ++i) {
      const std::size_t row = static_cast<std::size_t>(first) + i;
      ASSERT_TRUE(std::ranges::equal(part.column(kInputColumn)[i], all.column(kInputColumn)[row]));
      ASSERT_EQ(part.floats(kTargetColumn)[i], all.floats(kTargetColumn)[row]);
    }
  }
}

TEST(Retrograde, RefusesPuzzlesItCannotSearch) {
  const auto make = [](const Domain& domain, Config config) {
    return [&domain, config] {
      const auto generator = MakeGenerator(domain, config, nullptr);
      DataBuffer rows(generator->schema(), 10);
      generator->Fill({.rows = 10}, rows, StopSignal());
    };
  };
  const PancakeDomain pancakes(5);
  EXPECT_THAT(make(pancakes, ConfigFor(0)),
              ThrowsMessage<InputError>(HasSubstr("have the same goal")));
  EXPECT_THAT(make(*MakeDomain("grid:7"), ConfigFor(0)),
              ThrowsMessage<InputError>(HasSubstr("have different costs")));
}

TEST(RetrogradeTable, RefusesAProblemWithAGoalThatAllGoalsLacks) {
  const TwoGoalsDomain path(10, /*per_problem_goals=*/true);
  RetrogradeTable table(path);
  EXPECT_THAT([&] { table.Build(State{0}, 1000); },
              ThrowsMessage<Error>(HasSubstr("AllGoals lacks the goal 9")));
}

class NoGoals final : public PathDomain {
 public:
  NoGoals() : PathDomain(10, "no_goals", /*per_problem_goals=*/true) {}
  void AllGoals(std::span<const std::uint8_t> /*goal*/,
                std::vector<std::uint8_t>& /*goals*/) const override {}
};

TEST(RetrogradeTable, RefusesAProblemWithoutGoals) {
  const NoGoals path;
  RetrogradeTable table(path);
  EXPECT_THAT([&] { table.Build(State{0}, 1000); },
              ThrowsMessage<Error>(HasSubstr("AllGoals lacks the goal 0")));
}

}  // namespace
}  // namespace tandem
