// Random walks from the goal.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "tandem/domain.h"

namespace tandem {

/// What it costs to undo an action; infinite if no action does.
float UndoCost(const DomainSpec& spec, Action action);

/// Walks one state away from a goal: each action is uniform among those that apply, less the
/// inverse of the one before, so a walk steps straight back only out of a dead end. Where nothing
/// applies at all, the state stays as it is. Where actions have no inverses, the domain draws each
/// step.
class RandomWalk {
 public:
  /// Starts at a goal, drawn where problems have goals of their own, which it writes into `state`.
  /// Takes random numbers from `random`.
  RandomWalk(const Domain& domain, Random random, std::span<std::uint8_t> state);

  /// Throws Error if the domain draws a step back by no action of its own.
  void Step();

  /// The action that leads straight back; nothing before the first step.
  std::optional<Action> back() const { return back_; }

  /// What the way back to the goal costs: no cost-to-go of the state is more.
  float cost_back() const { return cost_back_; }

 private:
  Action DrawAmongAll();
  std::optional<Action> DrawAmongThoseThatApply();
  void StepByAction();

  const Domain& domain_;
  Random random_;
  std::span<std::uint8_t> state_;
  std::optional<Action> back_;
  float cost_back_ = 0;
  std::vector<std::uint8_t> applies_;  // by action; empty where every action applies
};

/// Takes a walk of a length uniform in 0..max_length, leaves its end in `state`, and returns what
/// the way back costs.
float Scramble(const Domain& domain, Random random, std::int64_t max_length,
               std::span<std::uint8_t> state);

}  // namespace tandem
