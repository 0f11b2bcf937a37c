// A line of cells whose first is the goal; at its ends, stepping further does not apply.
#pragma once

#include <algorithm>
#include <string>

#include "tandem/domain.h"

namespace tandem {

class LineDomain final : public Domain {
 public:
  explicit LineDomain(int cells)
      : Domain({.name = "line",
                .summary = "for tests",
                .state_size = 1,
                .input = {.positions = 1, .depth = cells},
                .action_names = {"l", "r"},
                .inverse_actions = {1, 0}}) {}

  void WriteGoals(Rows states) const override { std::ranges::fill(states.bytes(), 0); }

  void Apply(Rows states, std::span<const Action> actions) const override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      std::uint8_t& at = states[i][0];
      if (actions[i] == 0 && at > 0) --at;
      if (actions[i] == 1 && at + 1 < spec().input.depth) ++at;
    }
  }

  void IsGoal(ConstRows states, std::span<std::uint8_t> is_goal) const override {
    for (std::size_t i = 0; i < states.size(); ++i) is_goal[i] = states[i][0] == 0 ? 1 : 0;
  }

  void ParseState(std::string_view text, std::span<std::uint8_t> state) const override {
    state[0] = static_cast<std::uint8_t>(std::stoi(std::string(text)));
  }

  std::string FormatState(std::span<const std::uint8_t> state) const override {
    return std::to_string(state[0]);
  }
};

}  // namespace tandem
