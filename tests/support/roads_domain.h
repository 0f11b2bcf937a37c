// A puzzle with a map that the test defines: cities, and one road per action from each city.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tandem/domain.h"

namespace tandem {

/// A state is a city, and city 0 is the goal. All roads of an action have the same cost. An action
/// whose road leads back to its own city does not apply. Roads are one-way.
class RoadsDomain final : public Domain {
 public:
  using Roads = std::vector<std::vector<std::uint8_t>>;  // roads[city][action]: the next city

  RoadsDomain(Roads roads, std::vector<float> action_costs)
      : Domain({.name = "roads",
                .summary = "for tests",
                .state_size = 1,
                .input = {.positions = 1, .depth = static_cast<int>(roads.size())},
                .action_names = Names(action_costs.size()),
                .action_costs = action_costs}),
        roads_(std::move(roads)) {}

  void WriteGoals(Rows states) const override {
    for (std::uint8_t& city : states.bytes()) city = 0;
  }

  void Apply(Rows states, std::span<const Action> actions) const override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      states[i][0] = roads_[states[i][0]][actions[i]];
    }
  }

  void IsGoal(ConstRows states, std::span<std::uint8_t> is_goal) const override {
    for (std::size_t i = 0; i < states.size(); ++i) is_goal[i] = states[i][0] == 0 ? 1 : 0;
  }

  void StepBack(Rows states, std::span<const std::uint64_t> randoms,
                std::span<std::optional<Action>> actions) const override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      actions[i] = StepOneBack(states[i], randoms[i]);
    }
  }

  void ParseState(std::string_view text, std::span<std::uint8_t> state) const override {
    state[0] = static_cast<std::uint8_t>(std::stoi(std::string(text)));
  }

  std::string FormatState(std::span<const std::uint8_t> state) const override {
    return std::to_string(state[0]);
  }

 private:
  std::optional<Action> StepOneBack(std::span<std::uint8_t> state, std::uint64_t random) const {
    std::vector<std::pair<std::uint8_t, Action>> ways;
    for (std::size_t city = 0; city < roads_.size(); ++city) {
      for (std::size_t a = 0; a < roads_[city].size(); ++a) {
        if (city == state[0] || roads_[city][a] != state[0]) continue;
        ways.emplace_back(static_cast<std::uint8_t>(city), static_cast<Action>(a));
      }
    }
    if (ways.empty()) return std::nullopt;
    state[0] = ways[random % ways.size()].first;
    return ways[random % ways.size()].second;
  }

  static std::vector<std::string> Names(std::size_t count) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) names.emplace_back(1, static_cast<char>('a' + i));
    return names;
  }

  const Roads roads_;
};

}  // namespace tandem
