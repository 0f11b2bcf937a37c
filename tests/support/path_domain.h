// A puzzle whose actions do not always apply. A marker steps left or right on a path of cells but
// cannot leave it. The goal is the left end.
#pragma once

#include <string>
#include <utility>

#include "tandem/domain.h"

namespace tandem {

class PathDomain : public Domain {
 public:
  explicit PathDomain(int cells, std::string name = "path", bool per_problem_goals = false)
      : Domain({.name = std::move(name),
                .summary = "for tests",
                .state_size = 1,
                .input = {.positions = 1, .depth = cells},
                .action_names = {"l", "r"},
                .inverse_actions = {1, 0},
                .masks_actions = true,
                .per_problem_goals = per_problem_goals}),
        last_(static_cast<std::uint8_t>(cells - 1)) {}

  void WriteGoals(Rows states) const override {
    for (std::uint8_t& cell : states.bytes()) cell = 0;
  }

  void Apply(Rows states, std::span<const Action> actions) const override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      std::uint8_t& cell = states[i][0];
      if (Applies(cell, actions[i])) cell += actions[i] == 0 ? -1 : 1;
    }
  }

  void IsGoal(ConstRows states, std::span<std::uint8_t> is_goal) const override {
    for (std::size_t i = 0; i < states.size(); ++i) is_goal[i] = states[i][0] == 0 ? 1 : 0;
  }

  void Mask(ConstRows states, std::span<std::uint8_t> applies) const override {
    for (std::size_t i = 0; i < applies.size(); ++i) {
      applies[i] = Applies(states[i / 2][0], static_cast<Action>(i % 2)) ? 1 : 0;
    }
  }

  void ParseState(std::string_view text, std::span<std::uint8_t> state) const override {
    state[0] = static_cast<std::uint8_t>(std::stoi(std::string(text)));
  }

  std::string FormatState(std::span<const std::uint8_t> state) const override {
    return std::to_string(state[0]);
  }

 private:
  bool Applies(std::uint8_t cell, Action action) const {
    return action == 0 ? cell > 0 : cell < last_;
  }

  const std::uint8_t last_;
};

}  // namespace tandem
