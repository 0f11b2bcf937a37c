// A puzzle with dead ends: a path with a pit beside each cell, and no way out of a pit.
#pragma once

#include <limits>
#include <optional>
#include <string>

#include "tandem/domain.h"

namespace tandem {

/// A marker steps left or right on a path of cells, or drops into the pit beside its cell, where no
/// action applies. The goal is cell 0, which has no pit. State c is cell c; the pit beside cell c
/// is state cells + c. A drop cannot be undone, so random walks go backwards and never meet a pit.
class PitsDomain final : public Domain {
 public:
  explicit PitsDomain(int cells)
      : Domain({.name = "pits",
                .summary = "for tests",
                .state_size = 1,
                .input = {.positions = 1, .depth = 2 * cells},
                .action_names = {"l", "r", "drop"},
                .masks_actions = true}),
        cells_(static_cast<std::uint8_t>(cells)) {}

  bool IsPit(std::span<const std::uint8_t> state) const { return state[0] >= cells_; }

  /// The cost-to-go; infinite in a pit.
  float Truth(std::span<const std::uint8_t> state) const {
    return IsPit(state) ? std::numeric_limits<float>::infinity() : float(state[0]);
  }

  void WriteGoals(Rows states) const override {
    for (std::uint8_t& state : states.bytes()) state = 0;
  }

  void Apply(Rows states, std::span<const Action> actions) const override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      std::uint8_t& state = states[i][0];
      if (!Applies(state, actions[i])) continue;
      if (actions[i] == kDrop) {
        state += cells_;
      } else {
        state += actions[i] == kLeft ? -1 : 1;
      }
    }
  }

  void IsGoal(ConstRows states, std::span<std::uint8_t> is_goal) const override {
    for (std::size_t i = 0; i < states.size(); ++i) is_goal[i] = states[i][0] == 0 ? 1 : 0;
  }

  void Mask(ConstRows states, std::span<std::uint8_t> applies) const override {
    for (std::size_t i = 0; i < applies.size(); ++i) {
      applies[i] = Applies(states[i / 3][0], static_cast<Action>(i % 3)) ? 1 : 0;
    }
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
    const bool can_come_from_left = state[0] > 0;
    const bool can_come_from_right = state[0] + 1 < cells_;
    if (can_come_from_right && (!can_come_from_left || random % 2 == 0)) {
      ++state[0];
      return kLeft;
    }
    --state[0];
    return kRight;
  }

  static constexpr Action kLeft = 0;
  static constexpr Action kRight = 1;
  static constexpr Action kDrop = 2;

  bool Applies(std::uint8_t state, Action action) const {
    if (state >= cells_) return false;
    if (action == kRight) return state + 1 < cells_;
    return state > 0;
  }

  const std::uint8_t cells_;
};

}  // namespace tandem
