// Random walks from the goal.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "tandem/domain.h"

namespace tandem {

/// The cost of undoing `action`; infinite if no action undoes it.
float UndoCost(const DomainSpec& spec, Action action);

/// RandomWalk walks one state away from a goal, step by step. Each action is uniform among those
/// that apply, except the inverse of the previous action; a walk therefore steps straight back only
/// out of a dead end. If no action applies, the state stays the same. If the puzzle's actions have
/// no inverses, the domain draws each step (Domain::StepBack).
class RandomWalk {
 public:
  /// Writes a goal to `state`, which must outlive this object. The goal is drawn at random if each
  /// problem has its own goal. `random` provides the walk's random numbers.
  RandomWalk(const Domain& domain, Random random, std::span<std::uint8_t> state);

  /// Takes one step. Throws Error if StepBack of the domain returns an action that does not exist.
  void Step();

  /// The action that undoes the last step; nullopt before the first step.
  std::optional<Action> back() const { return back_; }

  /// The cost of the way back to the goal, which is an upper bound of the state's cost-to-go.
  float cost_back() const { return cost_back_; }

 private:
  Action DrawFromAll();
  std::optional<Action> DrawFromApplicable();
  void StepByAction();

  const Domain& domain_;
  Random random_;
  std::span<std::uint8_t> state_;
  std::optional<Action> back_;
  float cost_back_ = 0;
  std::vector<std::uint8_t> applies_;  // by action; empty if every action always applies
};

/// Takes a random walk whose length is uniform in 0..max_length. Writes its last state to `state`
/// and returns the cost of the way back.
float Scramble(const Domain& domain, Random random, std::int64_t max_length,
               std::span<std::uint8_t> state);

}  // namespace tandem
