// Hints of a network for one state.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

/// Hint is the advice of a network for one state.
struct Hint {
  float estimate = 0;                ///< estimated cost-to-go of the state; 0 in a goal
  std::optional<Action> action;      ///< the best action; nothing in a goal or if no action applies
  float rest = 0;                    ///< estimated cost-to-go after that action
  std::optional<float> probability;  ///< of the action, from a policy, which estimates no costs
};

/// Evaluates the state and its children with a network that estimates states. The best action has
/// the least sum of its cost and its child's estimate; ties go to the first action. Actions that
/// leave the state unchanged are ignored. The estimate of a goal is 0, and negative estimates count
/// as 0. Throws like BatchEvaluator, and Error if the network does not estimate states.
Hint HintByStates(const Domain& domain, Evaluator& v_net, std::span<const std::uint8_t> state);

/// Evaluates the state once with a Q net. The estimate of the state is the action's cost plus
/// `rest` of the best action. Throws Error if the network has no Q values. In all else it is like
/// HintByStates.
Hint HintByActions(const Domain& domain, Evaluator& q_net, std::span<const std::uint8_t> state);

/// Evaluates the state once with a policy. The best action is the most probable one that changes
/// the state; ties go to the first action. Throws like BatchEvaluator, and Error if the network is
/// no policy.
Hint HintByPolicy(const Domain& domain, Evaluator& policy, std::span<const std::uint8_t> state);

}  // namespace tandem
