// What a network says of one state: how far the goal is, and which action to take.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

struct Hint {
  float estimate = 0;            ///< of the cost-to-go; 0 in a goal
  std::optional<Action> action;  ///< the best; nothing in a goal, or where no action applies
  float rest = 0;                ///< the estimate of what remains after that action
};

/// Asks a V net about the state and its children: the best action is that of least cost and
/// estimate of the child, the first of equals. Actions that do not apply do not count; goals are
/// known to be 0, and no estimate counts less. Throws as Expander::Estimate.
Hint HintByStates(const Domain& domain, Evaluator& v_net, std::span<const std::uint8_t> state);

/// Asks a Q net about the state, once. As HintByStates in all else; the estimate is that of the
/// best action.
Hint HintByActions(const Domain& domain, QEvaluator& q_net, std::span<const std::uint8_t> state);

}  // namespace tandem
