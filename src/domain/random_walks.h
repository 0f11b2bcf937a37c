// Random walks from the goal.
#pragma once

#include <algorithm>
#include <cstddef>
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
inline Action DrawStep(Random& random, int num_actions, std::optional<Action> back) {
  const auto all = static_cast<std::uint64_t>(num_actions);
  const bool skip = back.has_value() && all > 1;
  const auto action = static_cast<Action>(random.Below(skip ? all - 1 : all));
  // A sum instead of a branch, which nobody can predict.
  const int further = (skip ? 1 : 0) & (action >= back.value_or(0) ? 1 : 0);
  return static_cast<Action>(action + further);
}

/// RandomWalks walks many states away from goals in lock step, so that each step of all walks takes
/// one call of each of the domain's methods. Each action is uniform among those that apply, except
/// the inverse of the previous action; a walk therefore steps straight back only out of a dead end.
/// If no action applies, the state stays the same. If the puzzle's actions have no inverses, the
/// domain draws each step (Domain::StepBack).
///
/// With kDistinctActions, no action is taken twice, and after all actions the state stays the same.
/// This is for puzzles whose actions commute and undo themselves (CommuteAndUndoThemselves), where
/// a second press of a button only takes back the first.
///
/// A walk depends on its own random numbers only, not on the walks beside it.
///
///   RandomWalks walks(domain);
///   walks.Begin(randoms, lengths);
///   while (walks.Step()) {
///   }
///   Use(walks.state(0), walks.cost_back(0));
class RandomWalks {
 public:
  /// `domain` must outlive this.
  explicit RandomWalks(const Domain& domain, WalkKind kind = WalkKind::kNoStepBack)
      : domain_(domain), kind_(kind) {}

  /// Begins a walk of lengths[i] steps for each i, at a goal, which is drawn at random if each
  /// problem has its own goal, and forgets the walks before. randoms[i] provides the random numbers
  /// of walk i.
  void Begin(std::span<const Random> randoms, std::span<const std::int64_t> lengths);

  /// Takes a step of every walk that has not ended. Returns false if all have ended. Throws Error
  /// if StepBack of the domain returns an action that does not exist.
  bool Step();

  /// Draws the action that each walk takes next, for next() and applies(). Does not change the
  /// walks. Requires that the puzzle's actions have inverses.
  void DrawActions();

  /// The action that walk i takes next, or nothing if none applies. Requires DrawActions since the
  /// last step, and that the walk has not ended.
  std::optional<Action> next(std::size_t i) const {
    const std::size_t place = places_[i];
    return can_move_[place] != 0 ? std::optional(next_[place]) : std::nullopt;
  }

  /// Which actions apply in the state of walk i; empty if all apply in every state. Requires the
  /// same as next().
  std::span<const std::uint8_t> applies(std::size_t i) const {
    return std::span(applies_).subspan(places_[i] * width(), width());
  }

  /// The state that walk i has reached.
  std::span<const std::uint8_t> state(std::size_t i) const { return rows()[places_[i]]; }

  /// The action that undoes the last step of walk i; nullopt before the first step.
  std::optional<Action> back(std::size_t i) const { return back_[places_[i]]; }

  /// The cost of walk i's way back to the goal, which is an upper bound of the state's cost-to-go.
  float cost_back(std::size_t i) const { return cost_back_[places_[i]]; }

  /// The actions that walk i has taken. Requires kDistinctActions.
  std::span<const Action> taken(std::size_t i) const;

 private:
  Rows rows() { return {states_.data(), places_.size(), row_size()}; }
  ConstRows rows() const { return {states_.data(), places_.size(), row_size()}; }
  std::size_t row_size() const { return static_cast<std::size_t>(domain_.spec().state_size); }
  std::size_t width() const { return applies_.size() / std::max<std::size_t>(places_.size(), 1); }
  void ForgetEnded();
  void StepBack();
  void StepByActions();
  void DrawFromRemaining();
  void DrawFromApplicable();

  const Domain& domain_;
  const WalkKind kind_;
  std::int64_t steps_ = 0;   // that the walks that have not ended have taken
  std::size_t walking_ = 0;  // the number of walks that have not ended
  bool is_drawn_ = false;    // whether next_ holds the actions of the next step

  // By walk: its place in the vectors below. Long walks come first, so those that have not ended
  // are the first ones.
  std::vector<std::uint32_t> places_;

  std::vector<std::int64_t> lengths_;
  std::vector<std::uint8_t> states_;
  std::vector<Random> randoms_;
  std::vector<std::optional<Action>> back_;
  std::vector<float> cost_back_;
  std::vector<Action> next_;
  std::vector<std::uint8_t> can_move_;  // whether there is a next action
  std::vector<std::uint8_t> applies_;   // by walk and action; empty if every action always applies
  std::vector<Action> order_;           // with kDistinctActions, by walk: the actions taken, then
                                        // those that remain
  std::vector<std::uint64_t> numbers_;  // random numbers for the domain
  std::vector<std::optional<Action>> stepped_;  // what StepBack of the domain returned
};

/// Takes a random walk of lengths[i] steps for each row of `states`, with the random numbers of
/// randoms[i]. Writes the last state of each walk to its row and the cost of its way back to
/// costs_back[i].
void WalkFromGoals(const Domain& domain, std::span<const Random> randoms,
                   std::span<const std::int64_t> lengths, Rows states, std::span<float> costs_back);

/// Takes one random walk of `length` steps. Writes its last state to `state` and returns the cost
/// of the way back.
float WalkFromGoal(const Domain& domain, Random random, std::int64_t length,
                   std::span<std::uint8_t> state);

/// Draws the length of a scramble: uniform in 0..max_length.
std::int64_t DrawScrambleLength(Random& random, std::int64_t max_length);

}  // namespace tandem
