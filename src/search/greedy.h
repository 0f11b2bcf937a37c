// Greedy descent: follow the estimates without search.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/stop_signal.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

/// From each start, repeatedly takes the action with the least sum of its cost and its child's
/// estimate, until a goal is a child of the current state. All starts advance in lock step. Element
/// i of the result is the number of actions from start i to a goal, or nothing if more than
/// most_actions[i] would be needed. `evaluate_rows` and the use of threads are those of Expander;
/// throws like Expander::Estimate.
std::vector<std::optional<std::int64_t>> DescendGreedily(const Domain& domain, Evaluator& evaluator,
                                                         std::size_t evaluate_rows,
                                                         ConstRows starts,
                                                         std::span<const std::int64_t> most_actions,
                                                         const StopSignal& stop);

/// The same descent with a policy: takes the most probable action that changes the state. Each
/// state is evaluated once, and its children are not.
std::vector<std::optional<std::int64_t>> DescendByPolicy(const Domain& domain, QEvaluator& policy,
                                                         std::size_t evaluate_rows,
                                                         ConstRows starts,
                                                         std::span<const std::int64_t> most_actions,
                                                         const StopSignal& stop);

/// Hint is the advice of a network for one state.
struct Hint {
  float estimate = 0;                ///< estimated cost-to-go of the state; 0 in a goal
  std::optional<Action> action;      ///< the best action; nothing in a goal or if no action applies
  float rest = 0;                    ///< estimated cost-to-go after that action
  std::optional<float> probability;  ///< of the action, from a policy, which estimates no costs
};

/// Evaluates the state and its children with a V net. The best action has the least sum of its cost
/// and its child's estimate; ties go to the first action. Actions that leave the state unchanged
/// are ignored. The estimate of a goal is 0, and negative estimates count as 0. Throws like
/// Expander::Estimate.
Hint HintByStates(const Domain& domain, Evaluator& v_net, std::span<const std::uint8_t> state);

/// Evaluates the state once with a Q net. The estimate of the state is the action's cost plus
/// `rest` of the best action. In all else it is like HintByStates.
Hint HintByActions(const Domain& domain, QEvaluator& q_net, std::span<const std::uint8_t> state);

/// Evaluates the state once with a policy. The best action is the most probable one that changes
/// the state; ties go to the first action. Throws like Expander::EstimateActions.
Hint HintByPolicy(const Domain& domain, QEvaluator& policy, std::span<const std::uint8_t> state);

}  // namespace tandem
