// Greedy descent: how far a heuristic leads without any search.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/stop_signal.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

/// From each start, takes the action whose cost and whose child's estimate are least together,
/// again and again; all starts in lock step. Returns how many actions led to a goal, nothing where
/// most_actions[i] did not suffice. `evaluate_rows` and threads as Expander; throws as
/// Expander::Estimate.
std::vector<std::optional<std::int64_t>> DescendGreedily(const Domain& domain, Evaluator& evaluator,
                                                         std::size_t evaluate_rows,
                                                         ConstRows starts,
                                                         std::span<const std::int64_t> most_actions,
                                                         const StopSignal& stop);

}  // namespace tandem
