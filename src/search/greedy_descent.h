// Greedy descent, by which validation measures a network. The search that solves is GreedySearch.
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
/// most_actions[i] would be needed. `rows_at_once` and the use of threads are those of
/// BatchEvaluator. Throws like BatchEvaluator, and Error if the network does not estimate states.
std::vector<std::optional<std::int64_t>> DescendGreedily(const Domain& domain, Evaluator& network,
                                                         std::size_t rows_at_once, ConstRows starts,
                                                         std::span<const std::int64_t> most_actions,
                                                         const StopSignal& stop);

/// Descends with a policy, by the most probable action that changes the state. Each
/// state is evaluated once, and its children are not. Throws Error if the network is not a policy.
std::vector<std::optional<std::int64_t>> DescendByPolicy(const Domain& domain, Evaluator& policy,
                                                         std::size_t rows_at_once, ConstRows starts,
                                                         std::span<const std::int64_t> most_actions,
                                                         const StopSignal& stop);

}  // namespace tandem
