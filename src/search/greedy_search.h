// Greedy steps: the descents of validation, and hints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/stop_signal.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

/// From each start, repeatedly takes the action that the network ranks best (RankingOf) of those
/// that change the state, until a goal is a child of the current state. Element i of the result is
/// the number of actions from start i to a goal, or nothing if more than most_actions[i] would be
/// needed. `rows_per_call`, threads and exceptions are those of BatchEvaluator.
std::vector<std::optional<std::int64_t>> DescendGreedily(const Domain& domain, Evaluator& network,
                                                         std::size_t rows_per_call,
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

/// Returns the advice of `network` for a state. Actions that leave the state unchanged are ignored,
/// and ties go to the first action. Throws like BatchEvaluator.
///
/// - estimates of states: the best action has the least sum of its cost and its child's estimate.
///   The estimate of a goal is 0, and negative estimates count as 0.
/// - Q values: evaluates the state once. Its estimate is the best action's cost plus `rest`.
/// - a policy alone: evaluates the state once. The best action is the most probable one.
Hint HintFor(const Domain& domain, Evaluator& network, std::span<const std::uint8_t> state);

}  // namespace tandem
