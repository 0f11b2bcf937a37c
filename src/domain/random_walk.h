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

/// Which actions a random walk chooses from.
enum class WalkKind {
  kNoStepBack,       ///< all that apply, except the inverse of the previous action
  kDistinctActions,  ///< all that the walk has not taken yet
};

/// Draws a step of a walk of a puzzle whose actions apply in every state: uniform among all actions
/// except `back`, which undoes the previous step. If there is only one action, it may be `back`.
Action DrawStep(Random& random, int num_actions, std::optional<Action> back);

/// RandomWalk walks one state away from a goal, step by step. Each action is uniform among those
/// that apply, except the inverse of the previous action; a walk therefore steps straight back only
/// out of a dead end. If no action applies, the state stays the same. If the puzzle's actions have
/// no inverses, the domain draws each step (Domain::StepBack).
///
/// With kDistinctActions, no action is taken twice, and after all actions the state stays the same.
/// This is for puzzles whose actions commute and undo themselves (CommuteAndUndoThemselves), where
/// a second press of a button only takes back the first.
class RandomWalk {
 public:
  /// Writes a goal to `state`, which must outlive this object. The goal is drawn at random if each
  /// problem has its own goal. `random` provides the walk's random numbers.
  RandomWalk(const Domain& domain, Random random, std::span<std::uint8_t> state,
             WalkKind kind = WalkKind::kNoStepBack);

  /// Takes one step. Throws Error if StepBack of the domain returns an action that does not exist.
  void Step();

  /// Returns the action that the next step will take, or nothing if none applies. Calling it does
  /// not change the walk. Requires that the puzzle's actions have inverses.
  std::optional<Action> NextAction();

  /// The state that the walk has reached.
  std::span<const std::uint8_t> state() const { return state_; }

  /// The action that undoes the last step; nullopt before the first step.
  std::optional<Action> back() const { return back_; }

  /// The cost of the way back to the goal, which is an upper bound of the state's cost-to-go.
  float cost_back() const { return cost_back_; }

  /// The actions taken so far. Requires kDistinctActions.
  std::span<const Action> taken() const { return std::span(actions_).first(num_taken_); }

 private:
  std::optional<Action> DrawFromApplicable();
  std::optional<Action> DrawFromRemaining();
  std::optional<Action> Draw();
  void StepByAction();

  const Domain& domain_;
  Random random_;
  std::span<std::uint8_t> state_;
  std::optional<Action> back_;
  float cost_back_ = 0;
  std::vector<std::uint8_t> applies_;  // by action; empty if every action always applies
  const WalkKind kind_;
  std::vector<Action> actions_;  // with kDistinctActions: those taken, then those that remain
  std::size_t num_taken_ = 0;    // of actions_
  bool drawn_ = false;           // whether next_ is the action of the next step
  std::optional<Action> next_;
};

/// Takes a random walk of `length` steps. Writes its last state to `state` and returns the cost of
/// the way back.
float WalkFromGoal(const Domain& domain, Random random, std::int64_t length,
                   std::span<std::uint8_t> state);

/// Draws the length of a scramble: uniform in 0..max_length.
std::int64_t DrawScrambleLength(Random& random, std::int64_t max_length);

/// Takes a random walk whose length is uniform in 0..max_length. Writes its last state to `state`
/// and returns the cost of the way back.
float Scramble(const Domain& domain, Random random, std::int64_t max_length,
               std::span<std::uint8_t> state);

}  // namespace tandem
