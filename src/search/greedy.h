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

}  // namespace tandem
