// A correct domain, and variants of it with one fault each.
#pragma once

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tandem/domain.h"
#include "tandem/error.h"

namespace tandem {

/// A marker on a path of ten cells steps left or right, but not off either end; the goal is cell 0.
class Walker : public Domain {
 public:
  static constexpr int kCells = 10;

  static DomainSpec Spec() {
    return {.name = "walker",
            .summary = "for tests",
            .state_size = 1,
            .input = {.positions = 1, .depth = kCells},
            .action_names = {"l", "r"},
            .inverse_actions = {1, 0},
            .masks_actions = true};
  }

  explicit Walker(DomainSpec spec = Spec()) : Domain(std::move(spec)) {}

  void WriteGoals(Rows states) const override { std::ranges::fill(states.bytes(), 0); }

  void Apply(Rows states, std::span<const Action> actions) const override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      std::uint8_t& cell = states[i][0];
      if (Applies(cell, actions[i])) cell = Next(cell, actions[i]);
    }
  }

  void Mask(ConstRows states, std::span<std::uint8_t> applies) const override {
    for (std::size_t i = 0; i < applies.size(); ++i) {
      applies[i] = Applies(states[i / 2][0], static_cast<Action>(i % 2)) ? 1 : 0;
    }
  }

  void IsGoal(ConstRows states, std::span<std::uint8_t> is_goal) const override {
    for (std::size_t i = 0; i < states.size(); ++i) is_goal[i] = states[i][0] == 0 ? 1 : 0;
  }

  void ParseState(std::string_view text, std::span<std::uint8_t> state) const override {
    int cell = -1;
    std::from_chars(text.data(), text.data() + text.size(), cell);
    if (cell < 0 || cell >= kCells) throw InputError("expected a cell");
    state[0] = static_cast<std::uint8_t>(cell);
  }

  std::string FormatState(std::span<const std::uint8_t> state) const override {
    return std::to_string(state[0]);
  }

 protected:
  virtual std::uint8_t Next(std::uint8_t cell, Action action) const {
    return action == 0 ? cell - 1 : cell + 1;
  }
  static bool Applies(std::uint8_t cell, Action action) {
    return action == 0 ? cell > 0 : cell + 1 < kCells;
  }
};

/// Writes 255 instead of 1 as the flag of a goal.
struct GoalFlagOf255 final : Walker {
  void IsGoal(ConstRows states, std::span<std::uint8_t> is_goal) const override {
    for (std::size_t i = 0; i < states.size(); ++i) is_goal[i] = states[i][0] == 0 ? 255 : 0;
  }
};

struct WrongInverse final : Walker {
  std::uint8_t Next(std::uint8_t cell, Action action) const override {
    return action == 1 && cell == 4 ? 6 : Walker::Next(cell, action);
  }
};

struct ForgottenMask final : Walker {
  ForgottenMask()
      : Walker([] {
          DomainSpec spec = Spec();
          spec.masks_actions = false;
          return spec;
        }()) {}
  void Mask(ConstRows states, std::span<std::uint8_t> applies) const override {
    Domain::Mask(states, applies);
  }
};

struct MaskThatForbidsTooMuch final : Walker {
  void Mask(ConstRows states, std::span<std::uint8_t> applies) const override {
    Walker::Mask(states, applies);
    for (std::size_t i = 0; i < states.size(); ++i) {
      if (states[i][0] == 3) applies[2 * i] = 0;
    }
  }
};

struct MaskThatAllowsTooMuch final : Walker {
  void Mask(ConstRows /*states*/, std::span<std::uint8_t> applies) const override {
    std::ranges::fill(applies, 1);
  }
};

struct GoalThatIsRejected final : Walker {
  void WriteGoals(Rows states) const override { std::ranges::fill(states.bytes(), 1); }
};

struct ExpandInWrongOrder final : Walker {
  void Expand(ConstRows states, Rows children) const override {
    Domain::Expand(states, children);
    for (std::size_t i = 0; i < states.size(); ++i) {
      std::swap(children[2 * i][0], children[2 * i + 1][0]);
    }
  }
};

struct InputAboveDepth final : Walker {
  InputAboveDepth()
      : Walker([] {
          DomainSpec spec = Spec();
          spec.input.depth = kCells - 1;
          return spec;
        }()) {}
};

struct InputSharedByTwoStates final : Walker {
  void Encode(ConstRows states, Rows inputs) const override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      inputs[i][0] = std::min<std::uint8_t>(states[i][0], 7);
    }
  }
};

struct TextReadAsAnotherState final : Walker {
  std::string FormatState(std::span<const std::uint8_t> state) const override {
    return std::to_string(state[0] == 8 ? 9 : state[0]);
  }
};

struct AcceptsAnyText final : Walker {
  void ParseState(std::string_view text, std::span<std::uint8_t> state) const override {
    state[0] = 0;
    std::from_chars(text.data(), text.data() + text.size(), state[0]);
  }
};

struct WrongExceptionForText final : Walker {
  void ParseState(std::string_view text, std::span<std::uint8_t> state) const override {
    state[0] = static_cast<std::uint8_t>(std::stoi(std::string(text)));
  }
};

struct Nondeterministic final : Walker {
  void Encode(ConstRows states, Rows inputs) const override {
    Domain::Encode(states, inputs);
    if (++calls % 2 == 0) inputs.bytes().back() ^= 1;
  }
  mutable std::atomic<int> calls = 0;
};

struct BatchWithoutLastRow final : Walker {
  void Apply(Rows states, std::span<const Action> actions) const override {
    const std::size_t done = states.size() <= 1 ? states.size() : states.size() - 1;
    Walker::Apply(states.Slice(0, done), actions);
  }
  void Expand(ConstRows states, Rows children) const override {
    for (std::size_t i = 0; i < children.size(); ++i) {
      const auto action = static_cast<Action>(i % 2);
      children[i][0] = states[i / 2][0];
      Walker::Apply(children.Slice(i, 1), {&action, 1});
    }
  }
};

struct WritesBeyondTheRows final : Walker {
  void Encode(ConstRows states, Rows inputs) const override {
    Domain::Encode(states, inputs);
    if (states.size() > 1) inputs.data()[inputs.size()] = 0;
  }
};

struct WritesWithoutRows final : Walker {
  void Encode(ConstRows states, Rows inputs) const override {
    inputs.data()[0] = 0;
    Domain::Encode(states, inputs);
  }
};

/// Actions only move the marker left, by two cells or by one, so no action can be undone.
class OneWay : public Walker {
 public:
  OneWay()
      : Walker([] {
          DomainSpec spec = Spec();
          spec.action_names = {"down2", "down1"};
          spec.inverse_actions = {};
          spec.action_costs = {3, 2};
          return spec;
        }()) {}

  void Mask(ConstRows states, std::span<std::uint8_t> applies) const override {
    for (std::size_t i = 0; i < applies.size(); ++i) {
      applies[i] = states[i / 2][0] >= 2 - i % 2 ? 1 : 0;
    }
  }

  void Apply(Rows states, std::span<const Action> actions) const override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      const int by = 2 - actions[i];
      if (states[i][0] >= by) states[i][0] -= static_cast<std::uint8_t>(by);
    }
  }

  void StepBack(Rows states, std::span<const std::uint64_t> randoms,
                std::span<std::optional<Action>> actions) const override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      const auto action = static_cast<Action>(randoms[i] % 2);
      const int by = 2 - action;
      actions[i].reset();
      if (states[i][0] + by >= kCells) continue;
      states[i][0] += static_cast<std::uint8_t>(by);
      actions[i] = action;
    }
  }
};

struct StepsBackWrongly final : OneWay {
  void StepBack(Rows states, std::span<const std::uint64_t> randoms,
                std::span<std::optional<Action>> actions) const override {
    OneWay::StepBack(states, randoms, actions);
    for (std::size_t i = 0; i < states.size(); ++i) {
      if (actions[i] && states[i][0] == 5) actions[i] = static_cast<Action>(1 - *actions[i]);
    }
  }
};

struct MissingStepBack final : OneWay {
  void StepBack(Rows states, std::span<const std::uint64_t> randoms,
                std::span<std::optional<Action>> actions) const override {
    Domain::StepBack(states, randoms, actions);
  }
};

struct StepBackByUnknownAction final : OneWay {
  void StepBack(Rows /*states*/, std::span<const std::uint64_t> /*randoms*/,
                std::span<std::optional<Action>> actions) const override {
    std::ranges::fill(actions, static_cast<Action>(-1));
  }
};

/// Both ends of the path are goals. A problem draws one of them.
struct TwoGoals : Walker {
  TwoGoals()
      : Walker([] {
          DomainSpec spec = Spec();
          spec.per_problem_goals = true;
          return spec;
        }()) {}

  void DrawGoals(Rows states, std::span<const std::uint64_t> seeds) const override {
    for (std::size_t i = 0; i < states.size(); ++i)
      states[i][0] = seeds[i] % 2 == 0 ? 0 : kCells - 1;
  }

  void IsGoal(ConstRows states, std::span<std::uint8_t> is_goal) const override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      is_goal[i] = states[i][0] == 0 || states[i][0] == kCells - 1 ? 1 : 0;
    }
  }

  void AllGoals(std::span<const std::uint8_t> /*goal*/,
                std::vector<std::uint8_t>& goals) const override {
    goals.insert(goals.end(), {0, kCells - 1});
  }
};

struct ForgottenGoal final : TwoGoals {
  void AllGoals(std::span<const std::uint8_t> /*goal*/,
                std::vector<std::uint8_t>& goals) const override {
    goals.push_back(kCells - 1);
  }
};

struct GoalTooMany final : TwoGoals {
  void AllGoals(std::span<const std::uint8_t> /*goal*/,
                std::vector<std::uint8_t>& goals) const override {
    goals.insert(goals.end(), {0, 5, kCells - 1});
  }
};

/// Predecessors of cell 5 lacks cell 4.
struct ForgottenPredecessor final : Walker {
  bool Predecessors(ConstRows states, std::vector<std::uint8_t>& predecessors) const override {
    Domain::Predecessors(states, predecessors);
    if (states[0][0] == 5) std::erase(predecessors, 4);
    return true;
  }
};

/// Predecessors of cell 5 has cell 8.
struct PredecessorTooMany final : Walker {
  bool Predecessors(ConstRows states, std::vector<std::uint8_t>& predecessors) const override {
    Domain::Predecessors(states, predecessors);
    if (states[0][0] == 5) predecessors.push_back(8);
    return true;
  }
};

struct DuplicateActionName final : Walker {
  DuplicateActionName()
      : Walker([] {
          DomainSpec spec = Spec();
          spec.action_names = {"l", "l"};
          return spec;
        }()) {}
};

/// Moves the marker instead of the goal.
struct GoalsThatMoveTheMarker final : Walker {
  GoalsThatMoveTheMarker()
      : Walker([] {
          DomainSpec spec = Spec();
          spec.moves_goals = true;
          return spec;
        }()) {}

  void MoveGoals(Rows states, std::span<const std::uint8_t> /*reached*/) const override {
    std::ranges::fill(states.bytes(), 0);
  }
};

struct SaysThatGoalsMove final : Walker {
  SaysThatGoalsMove()
      : Walker([] {
          DomainSpec spec = Spec();
          spec.moves_goals = true;
          return spec;
        }()) {}
};

struct EmptyPicture final : Walker {
  Picture Draw(std::span<const std::uint8_t> /*state*/) const override { return {}; }
};

struct PictureOfWidthZero final : Walker {
  Picture Draw(std::span<const std::uint8_t> /*state*/) const override {
    return {.cells = {{.text = "w", .width = 0}}};
  }
};

struct PictureWithoutCharacters final : Walker {
  Picture Draw(std::span<const std::uint8_t> /*state*/) const override {
    return {.cells = {{.text = "w"}}, .unit_width = 0};
  }
};

/// Its input is shorter than its state, and it does not encode states.
struct ForgottenEncode final : Walker {
  static DomainSpec Spec() {
    DomainSpec spec = Walker::Spec();
    spec.state_size = 2;
    return spec;
  }
  ForgottenEncode() : Walker(Spec()) {}
};

/// Apply does nothing while another thread is in Apply. Threads other than the one that made the
/// domain wait there for each other, so that calls always overlap if there are at least two.
class ApplyForOneThread final : public Walker {
 public:
  void Apply(Rows states, std::span<const Action> actions) const override {
    const bool is_alone = calls_++ == 0;
    if (!is_alone) have_met_ = true;
    while (std::this_thread::get_id() != maker_ && !have_met_) std::this_thread::yield();
    if (is_alone) Walker::Apply(states, actions);
    --calls_;
  }

 private:
  const std::thread::id maker_ = std::this_thread::get_id();
  mutable std::atomic<int> calls_ = 0;
  mutable std::atomic<bool> have_met_ = false;
};

struct ClaimsPerProblemGoals final : Walker {
  ClaimsPerProblemGoals()
      : Walker([] {
          DomainSpec spec = Spec();
          spec.per_problem_goals = true;
          return spec;
        }()) {}
};

}  // namespace tandem
