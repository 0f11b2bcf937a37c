// Costs of actions and paths, what children are ranked by, and the choice of the best action.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <span>

#include "tandem/domain.h"
#include "tandem/error.h"
#include "tandem/evaluator.h"

namespace tandem {

/// The cost-to-go that the estimate of a state other than a goal stands for: 0 if it is negative.
inline float CostToGo(float estimate) { return estimate > 0 ? estimate : 0; }

/// The least cost of an action. Rankings of children add an action's cost minus this to the
/// estimates. If all actions cost the same, they add 0, and the order is exactly that of the
/// estimates, which adding a cost would round.
inline float LeastCost(const DomainSpec& spec) {
  return *std::ranges::min_element(spec.action_costs);
}

/// Whether some actions cost more than others.
inline bool CostsDiffer(const DomainSpec& spec) {
  return LeastCost(spec) < std::ranges::max(spec.action_costs);
}

/// The largest cost of a sequence of actions that counts as less than `cost`, the cost of another
/// one. 0 if `cost` is that of a single action and all actions cost the same.
inline float CostBelow(const DomainSpec& spec, float cost) {
  constexpr float kLess = 1 - 1e-4F;  // more than the rounding that CostBound allows for
  return CostsDiffer(spec) ? cost * kLess : cost - LeastCost(spec);
}

/// Ranking says by what a search ranks the children of a state.
enum class Ranking {
  kByStates,   ///< the estimates of the children
  kByActions,  ///< the Q values of the actions that lead to them
  kByPolicy,   ///< the probabilities of the actions that lead to them
};

/// Returns what a search ranks by: the network's Q values if it has them, else its estimates of
/// states, else its policy. Throws Error if the network has none of the three.
inline Ranking RankingOf(const Evaluator& network) {
  if (network.action_values() == ActionValues::kQValues) return Ranking::kByActions;
  if (network.estimates_states()) return Ranking::kByStates;
  if (network.action_values() == ActionValues::kSurprisals) return Ranking::kByPolicy;
  throw Error("the evaluator neither estimates states nor gives values of actions");
}

/// The action with the least value_of(action); ties go to the first. Nothing if `actions` is empty.
template <class ValueOf>
std::optional<Action> BestAction(std::span<const Action> actions, const ValueOf& value_of) {
  const auto best = std::ranges::min_element(actions, {}, value_of);
  return best == actions.end() ? std::nullopt : std::optional(*best);
}

/// The best of `actions`. With estimates of states, it is the one with the least sum of its cost
/// and its child's estimate; negative estimates are ranked as they are. Otherwise it is the one
/// with the least value. values[a] belongs to action a; only those of `actions` are read. Ties go
/// to the first; nothing if `actions` is empty.
inline std::optional<Action> BestBy(Ranking ranking, const DomainSpec& spec,
                                    std::span<const Action> actions,
                                    std::span<const float> values) {
  const float least_cost = LeastCost(spec);
  return BestAction(actions, [&](Action action) {
    const bool by_states = ranking == Ranking::kByStates;
    return by_states ? spec.action_costs[action] - least_cost + values[action] : values[action];
  });
}

/// The largest sum of costs that counts as at most `cost`. The cost of an action is rounded to a
/// float, so three actions of cost 0.3 may cost a little more than 0.9. Searches sum costs in
/// double, where the sum of floats is as good as exact however long the path is.
inline double WithRounding(double cost) {
  constexpr double kRounding = 1e-5;
  return cost * (1 + kRounding);
}

/// CostBound rules out paths that cannot be part of a solution of at most a given cost.
class CostBound {
 public:
  /// `most` is the largest allowed cost of a solution; 0 or less: no limit.
  explicit CostBound(double most) {
    if (most > 0) most_ = WithRounding(most);
  }

  /// The largest cost that is not excluded. Infinite if there is no limit.
  double most() const { return most_; }

  bool is_limited() const { return most_ < std::numeric_limits<double>::infinity(); }

  /// Whether every solution costs too much that costs at least `cost`, such as the sum of a path's
  /// cost and a lower bound on the cost-to-go of its end.
  bool Excludes(double cost) const { return cost > most_; }

 private:
  double most_ = std::numeric_limits<double>::infinity();
};

}  // namespace tandem
