// Labels that a path to a goal gives its states.
#pragma once

#include <cstddef>
#include <span>

#include "config/config.h"
#include "data/data_buffer.h"
#include "tandem/domain.h"

namespace tandem {

/// Writes an example to row `row` of `out` (ExampleSchema): a state and what the actions `rest`,
/// which lead from it to a goal, say about it:
///
/// - V net: the cost of `rest`.
/// - Q net: that cost, for the first action. The others have weight 0.
/// - Head q_in: that cost, for the first action, which is part of the input.
/// - Policy: the first action.
/// - Head vp: the cost and the first action.
///
/// A goal, for which `rest` is empty, has no action: all weights of a Q net are 0, and so are the
/// probabilities of a policy. A row of head q_in must have an action; it takes the first one, which
/// is right if no action leaves the goal.
///
/// A label is an upper bound of the true cost, and exact if the path is a cheapest one. Thread-safe
/// for different rows.
void WritePathExample(const Domain& domain, Head head, std::span<const std::uint8_t> state,
                      std::span<const Action> rest, DataBuffer& out, std::size_t row);

}  // namespace tandem
