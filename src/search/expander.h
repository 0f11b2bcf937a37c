// Expansion of states, evaluation of their children, and the choice of the best child.
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

#include "base/stop_signal.h"
#include "search/cost_bound.h"
#include "search/known_costs.h"
#include "tandem/domain.h"
#include "tandem/error.h"
#include "tandem/evaluator.h"

namespace tandem {

/// The 64-bit hash (XXH3) by which searches look up states.
std::uint64_t HashState(std::span<const std::uint8_t> state);

/// Expander makes the children of a batch of states and evaluates them. Its memory is reused for
/// the next batch; a returned span stays valid until the next call that overwrites it.
///
/// In every array of children, element i * num_actions + a is the result of applying action a to
/// state i, unless Step made them.
///
/// A search calls Expand for all states and then Estimate for the children that it chooses. Both
/// use the TBB threads of the caller's arena. A search that needs few of the children calls
/// ExpandHashes in place of Expand, and builds those that it needs. A generator calls Resize; its
/// workers call ExpandRange; then EstimateAll evaluates all children in one call. Two generators'
/// Expanders can thus take turns: one is expanded while the evaluator works for the other.
///
/// Not thread-safe, except for ExpandRange. The evaluator is called on the calling thread and may
/// block, so never call an Estimate method inside a TBB task. The Estimate methods throw Error that
/// names the state if an estimate is NaN, and whatever the evaluator throws. The methods that make
/// children throw InputError if one is a goal outside the ball around another goal.
class Expander {
 public:
  /// `domain` and `evaluator` must outlive this. Estimate and EstimateActions pass at most
  /// `evaluate_rows` states per call to the evaluator. A multiple of the evaluator's own batch size
  /// is as fast as one large call. Costs are known of the states in `ball` or, if that is null, of
  /// goals.
  Expander(const Domain& domain, Evaluator& evaluator,
           std::size_t evaluate_rows = std::numeric_limits<std::size_t>::max(),
           std::shared_ptr<const GoalBall> ball = nullptr);

  /// The memory, in bytes, for the children of `states` states, without estimates and what
  /// EstimateAll needs.
  static std::int64_t BytesFor(const DomainSpec& spec, std::int64_t states);

  // Methods for searches.

  /// Makes the children of `states`. `states` must not lie in children(), which is overwritten.
  void Expand(ConstRows states);

  /// Like Expand, but need not keep the children's states: only Build gives them, and children()
  /// is unspecified. `states` must not change while Build or PathToGoal is called.
  ///
  /// `undoing` is empty, or has for each state the action that leads back to the state from which
  /// it was reached. Its child is left out: is_left_out() is 1, and nothing else about it is
  /// specified.
  ///
  /// If the domain is a PermutationDomain, whose actions are cheap, children are made a few parents
  /// at a time in memory that stays in the cache, and those that Build is asked for are made again
  /// (hashes first, as in iKolt/cayleypy-fast). Children of other domains are kept.
  void ExpandHashes(ConstRows states, std::span<const Action> undoing = {});

  /// Makes one child of each state: child i is the result of actions[i] on state i, in every array.
  void Step(ConstRows states, std::span<const Action> actions);

  /// Writes the `chosen` children of Expand or ExpandHashes to `into`, one row each, and returns
  /// the rows.
  ConstRows Build(std::span<const std::uint32_t> chosen, std::vector<std::uint8_t>& into) const;

  /// The evaluator's estimates for states[chosen[0]], states[chosen[1]], ... Throws Stopped once
  /// `stop` is reached.
  std::span<const float> Estimate(ConstRows states, std::span<const std::uint32_t> chosen,
                                  const StopSignal& stop);

  /// The evaluator's estimates for all of `states`. Throws Stopped once `stop` is reached.
  std::span<const float> Estimate(ConstRows states, const StopSignal& stop);

  /// Of the children of each state, leaves out all but the `most` with the least `values`, one
  /// value per child. Ties go to the first. Children of known cost-to-go stay, and neither they nor
  /// children that are left out already count. Call it after Expand or ExpandHashes.
  void KeepBest(std::span<const float> values, std::size_t most);

  /// The values of every action in every state: num_actions values per state.
  /// Throws Stopped once `stop` is reached.
  std::span<const float> EstimateActions(QEvaluator& q_or_policy, ConstRows states,
                                         const StopSignal& stop);

  // Methods for generators.

  /// Makes room for the children of `states` states, their encodings and their estimates.
  void Resize(std::size_t states);

  /// Makes and encodes the children of `states`, which are states first, first + 1, ... of the
  /// batch. Several threads may call this at once for different states.
  void ExpandRange(ConstRows states, std::size_t first);

  /// Says that the estimate of a child is known, so that EstimateAll need not evaluate it. Call it
  /// after ExpandRange, on any thread, and only if skips_known().
  void SetEstimate(std::size_t child, float estimate);

  /// Whether EstimateAll leaves out children: goals, whose estimates are then 0, children with
  /// SetEstimate, and repeats of other children of the batch. It does if the evaluator's estimates
  /// do not depend on what else it evaluates, so that labels keep their bits.
  bool skips_known() const { return skips_known_; }

  /// Evaluates all children in one call of the evaluator, and fills in estimates().
  void EstimateAll();

  /// One estimate per child, from EstimateAll.
  std::span<const float> estimates() const { return values_; }

  /// Whether ExpandHashes keeps the children's states.
  bool keeps_children() const { return !permutes_; }

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

  /// The known costs-to-go, from which those of the children are.
  const KnownCosts& known_costs() const { return known_; }

  /// A lower bound on the cost-to-go of a child: the exact cost if it is known, else at least the
  /// cost of one action.
  float LeastCostToGo(std::size_t child) const {
    const float known = KnownCost(child);
    return known < std::numeric_limits<float>::infinity() ? known : least_rest_;
  }

  /// A cheapest way from a child to the goal. Requires that its cost is known.
  std::vector<Action> PathToGoal(std::size_t child) const;

  /// Of children [first, end) with a known cost-to-go, the one through which the cheapest solution
  /// leads, if `bound` allows its cost and the way from the child to the goal has at most
  /// `most_actions` actions. cost_to(i) is the cost of the path to child i. Ties go to the lower
  /// index.
  template <class CostTo>
  std::optional<std::size_t> CheapestKnown(std::size_t first, std::size_t end,
                                           const CostTo& cost_to, const CostBound& bound,
                                           std::int64_t most_actions) const {
    std::optional<std::size_t> cheapest;
    float least = std::numeric_limits<float>::infinity();
    for (std::size_t i = first; i < end; ++i) {
      const float rest = KnownCost(i);
      if (std::isinf(rest)) continue;
      const float total = cost_to(i) + rest;
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

  /// HashState of each child; unspecified where is_left_out() is 1, unless skips_known().
  std::span<const std::uint64_t> hashes() const { return hashes_; }

 private:
  void ResizeChildren(std::size_t num_children, bool with_states);
  Rows ChildrenOf(std::size_t first, std::size_t states);
  void MakeChildren(ConstRows states, std::size_t first, Rows children,
                    std::span<const Action> undoing = {});
  void NoteKnownCosts(std::size_t first_child, ConstRows children);

  // Encodes states 0 to rows - 1 and evaluates them, one slice after another. Each state has
  // `width` values. encode(first, inputs) encodes states first, first + 1, ... into `inputs`.
  // state_of(i) is state i.
  template <class StateOf, class EncodeRange, class Evaluate>
  std::span<const float> InSlices(std::size_t rows, std::size_t width, const StopSignal& stop,
                                  const StateOf& state_of, const EncodeRange& encode,
                                  const Evaluate& evaluate);

  void EstimateNeeded();
  void FindNeeded();
  ConstRows InputsOf(std::size_t first, std::size_t count) const;

  // Checks values_. state_of(i / width) is the state that values_[i] belongs to.
  template <class StateOf>
  void RejectNan(std::size_t width, const StateOf& state_of) const;

  const Domain& domain_;
  Evaluator& evaluator_;
  const std::size_t evaluate_rows_;
  const KnownCosts known_;
  const float least_rest_;  // of children of unknown cost, which need at least one action
  const bool permutes_;     // making a child twice costs less than keeping it
  const bool skips_known_;

  std::optional<ConstRows> parents_;  // set by ExpandHashes if the children were not kept
  std::vector<std::uint8_t> children_;
  std::vector<std::uint8_t> is_goal_;
  std::vector<float> known_costs_;  // by child; empty without a ball
  std::vector<std::uint8_t> is_left_out_;
  std::vector<std::uint64_t> hashes_;
  std::vector<std::uint8_t> inputs_;  // encoded: the states of a slice, or all children
  std::vector<float> values_;

  // Of EstimateNeeded. A needed child is evaluated, unless it is a repeat.
  std::vector<std::uint8_t> is_needed_;
  std::vector<std::uint32_t> evaluated_;  // children, without repeats
  std::vector<std::uint32_t> place_;      // where in evaluated_ the estimate of a needed child is
  std::vector<std::uint32_t> slots_;      // a hash table of places in evaluated_
  std::vector<std::uint8_t> evaluated_inputs_;
  std::vector<float> evaluated_values_;
};

/// Returns the error for a network whose estimate of `state` is not a number.
Error NanEstimate(const Domain& domain, std::span<const std::uint8_t> state);

/// NoNetwork stands in for the network of an Expander that only expands. Evaluate throws Error.
class NoNetwork final : public Evaluator {
 public:
  void Evaluate(ConstRows inputs, std::span<float> values) override;
};

/// The cost-to-go that an estimate stands for: 0 for a goal and for negative estimates.
inline float CostToGo(bool is_goal, float estimate) {
  return !is_goal && estimate > 0 ? estimate : 0;
}

/// The backed-up value of a child: the cost of the action that leads to it plus its cost-to-go.
inline float BackedUpCost(const DomainSpec& spec, std::size_t action, bool is_goal,
                          float estimate) {
  return spec.action_costs[action] + CostToGo(is_goal, estimate);
}

/// The least cost of an action. Rankings of children add an action's cost minus this to the
/// estimates. If all actions cost the same, they add 0, and the order is exactly that of the
/// estimates, which adding a cost would round.
float LeastCost(const DomainSpec& spec);

/// Whether some actions cost more than others.
bool CostsDiffer(const DomainSpec& spec);

/// The largest cost of a sequence of actions that counts as less than `cost`, the cost of another
/// one. 0 if `cost` is that of a single action and all actions cost the same.
float CostBelow(const DomainSpec& spec, float cost);

/// The action with the least value_of(action); ties go to the first. Nothing if `actions` is empty.
template <class ValueOf>
std::optional<Action> BestAction(std::span<const Action> actions, const ValueOf& value_of) {
  const auto best = std::ranges::min_element(actions, {}, value_of);
  return best == actions.end() ? std::nullopt : std::optional(*best);
}

/// The action of a greedy step: the one with the least sum of its cost and its child's estimate.
/// Negative estimates are ranked as they are. estimates[a] belongs to action a; only those of
/// `actions` are read. Ties go to the first; nothing if `actions` is empty.
std::optional<Action> GreedyAction(const DomainSpec& spec, std::span<const Action> actions,
                                   std::span<const float> estimates);

}  // namespace tandem
