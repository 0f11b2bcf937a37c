// Expansion of states.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "search/costs.h"
#include "search/goal_ball.h"
#include "tandem/domain.h"

namespace tandem {

/// Expander makes the children of a batch of states, and finds out what can be known about them
/// without a network: which are goals, which have a known cost-to-go, and their hashes. Its memory
/// is reused for the next batch; a returned span stays valid until the next call that overwrites
/// it.
///
/// In every array of children, element i * num_actions + a is the result of applying action a to
/// state i, unless Step made them.
///
/// A search calls Expand, or if it needs few of the children, ExpandHashes and Build. A caller with
/// threads of its own calls Resize, and its threads call ExpandRange. ResizeForSteps and StepRange
/// do the same for Step.
///
/// Not thread-safe, except for ExpandRange and StepRange. The other methods use the TBB threads of
/// the caller's arena. Methods that make children throw InputError for a goal outside the ball.
class Expander {
 public:
  /// `domain` must outlive this. The exact costs-to-go of the states in `ball` are known or, if
  /// that is null, those of goals.
  explicit Expander(const Domain& domain, std::shared_ptr<const GoalBall> ball = nullptr);

  /// The memory, in bytes, for the children of `states` states.
  static std::int64_t BytesFor(const DomainSpec& spec, std::int64_t states);

  /// Makes the children of `states`. `states` must not lie in children(), which is overwritten.
  void Expand(ConstRows states);

  /// Makes room for the children of `states` states, which ExpandRange then makes.
  void Resize(std::size_t states);

  /// Makes the children of `states`, which are states first, first + 1, ... of the batch. Several
  /// threads may call this at once for different states.
  void ExpandRange(ConstRows states, std::size_t first);

  /// Like Expand, but need not keep the children's states: only Build gives them, and children() is
  /// unspecified. `states` must not change while Build or PathToGoal is called.
  ///
  /// `undoing` is empty, or has for each state the action that leads back to the state from which
  /// it was reached. Its child is left out, and nothing else about it is specified.
  ///
  /// Children of a PermutationDomain, whose actions are cheap, are made a few parents at a time in
  /// memory that stays in the cache, and those that Build is asked for are made again (hashes
  /// first, as in iKolt/cayleypy-fast). Children of other domains are kept.
  void ExpandHashes(ConstRows states, std::span<const Action> undoing = {});

  /// Whether ExpandHashes keeps the children's states.
  bool keeps_children() const { return !permutes_; }

  /// Makes one child of each state: child i is the result of actions[i] on state i, in every array.
  void Step(ConstRows states, std::span<const Action> actions);

  /// Makes room for one child of each of `states` states, which StepRange then makes.
  void ResizeForSteps(std::size_t states) { ResizeChildren(states, /*with_states=*/true); }

  /// Does Step for `states`, which are states first, first + 1, ... of the batch. Several threads
  /// may call this at once for different states.
  void StepRange(ConstRows states, std::span<const Action> actions, std::size_t first);

  /// Writes the `chosen` children of Expand or ExpandHashes to `into`, and returns the rows.
  ConstRows Build(std::span<const std::uint32_t> chosen, std::vector<std::uint8_t>& into) const;

  /// Of the children of each state, leaves out all but the `most` with the least `values`, one per
  /// child; ties go to the first. Children of known cost-to-go stay, and neither they nor children
  /// that are left out already count. Call it after Expand or ExpandHashes.
  void KeepBest(std::span<const float> values, std::size_t most);

  // The children of the current batch.

  std::size_t size() const { return is_goal_.size(); }

  /// The number of children that are not left out. Results of searches count these as nodes.
  std::int64_t num_generated() const;

  ConstRows children() const {
    return {children_.data(), size(), static_cast<std::size_t>(domain_.spec().state_size)};
  }
  std::span<const std::uint8_t> is_goal() const { return is_goal_; }

  /// The exact cost-to-go of a child if it is known, else infinity.
  float KnownCost(std::size_t child) const {
    if (!known_costs_.empty()) return known_costs_[child];
    return is_goal_[child] != 0 ? 0 : std::numeric_limits<float>::infinity();
  }

  /// The exact cost-to-go of any state, or infinity if it is not known. `hash` is HashState(state).
  /// Throws InputError if the state is a goal outside the ball. Thread-safe.
  float KnownCostOf(std::span<const std::uint8_t> state, std::uint64_t hash, bool is_goal) const;

  /// A lower bound on the cost-to-go of states of unknown cost.
  float least_unknown() const { return ball_ != nullptr ? ball_->least_cost_outside() : 0; }

  /// The cost-to-go of a child: the exact one if it is known, else the network's `estimate` of it,
  /// which counts as at least least_unknown().
  float CostToGo(std::size_t child, float estimate) const {
    const float known = KnownCost(child);
    return std::isinf(known) ? std::max(tandem::CostToGo(estimate), least_unknown()) : known;
  }

  /// A lower bound on the cost-to-go of a child: the exact cost, or else the cost of an action.
  float LeastCostToGo(std::size_t child) const {
    const float known = KnownCost(child);
    return known < std::numeric_limits<float>::infinity() ? known : least_rest_;
  }

  /// A cheapest way from a child to the goal. Requires that its cost is known.
  std::vector<Action> PathToGoal(std::size_t child) const;

  /// Of children [first, end), the one of known cost-to-go through which the cheapest solution
  /// leads, if `bound` allows its cost and the way from the child to the goal has at most
  /// `most_actions` actions. cost_to(i) is the cost of the path to child i. Ties go to the lower
  /// index.
  template <class CostTo>
  std::optional<std::size_t> CheapestKnown(std::size_t first, std::size_t end,
                                           const CostTo& cost_to, const CostBound& bound,
                                           std::int64_t most_actions) const {
    std::optional<std::size_t> cheapest;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = first; i < end; ++i) {
      const float rest = KnownCost(i);
      if (std::isinf(rest)) continue;
      const double total = cost_to(i) + rest;
      if (total >= least || bound.Excludes(total)) continue;
      if (std::cmp_greater(rest > 0 ? PathToGoal(i).size() : 0, most_actions)) continue;
      cheapest = i;
      least = total;
    }
    return cheapest;
  }

  /// 1 where the child equals its parent, for example because the action does not apply, where the
  /// action undoes the last one (ExpandHashes), and where KeepBest left it out.
  std::span<const std::uint8_t> is_left_out() const { return is_left_out_; }

  /// The actions of state i whose children are not left out. Requires that Step did not make them.
  std::vector<Action> UsefulActions(std::size_t i) const;

  /// HashState of each child; unspecified where the action undoes the last one.
  std::span<const std::uint64_t> hashes() const { return hashes_; }

 private:
  void ResizeChildren(std::size_t num_children, bool with_states);
  Rows ChildrenOf(std::size_t first, std::size_t states);
  void MakeChildren(ConstRows states, std::size_t first, Rows children,
                    std::span<const Action> undoing = {});
  void NoteKnownCosts(std::size_t first_child, ConstRows children);

  const Domain& domain_;
  const std::shared_ptr<const GoalBall> ball_;  // may be null
  const float least_rest_;   // of children of unknown cost, which need at least one action
  const bool permutes_;      // making a child twice costs less than keeping it
  const std::size_t grain_;  // states per TBB task

  std::optional<ConstRows> parents_;  // set by ExpandHashes if the children were not kept
  std::vector<std::uint8_t> children_;
  std::vector<std::uint8_t> is_goal_;
  std::vector<float> known_costs_;  // by child; empty without a ball
  std::vector<std::uint8_t> is_left_out_;
  std::vector<std::uint64_t> hashes_;
};

/// Returns the number of states of a puzzle whose actions have inverses and whose problems all have
/// the same goal. Nothing for other puzzles, or as soon as it exceeds `most`.
std::optional<std::size_t> NumberOfStates(const Domain& domain, std::size_t most);

}  // namespace tandem
