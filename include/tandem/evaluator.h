// The interface through which searches and generators evaluate states.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "tandem/error.h"
#include "tandem/rows.h"

namespace tandem {

/// ActionValues says which numbers Evaluator::EvaluateActions gives for actions.
enum class ActionValues {
  kNone,        ///< nothing: it must not be called
  kQValues,     ///< the action's cost plus the estimated cost-to-go of its child, as a Q net
  kSurprisals,  ///< minus the logarithm of the action's probability, as a policy
};

/// Evaluator estimates states that Domain::Encode has encoded, gives values of their actions, or
/// both. estimates_states() and action_values() say which, and must not change. A heuristic that
/// estimates the cost-to-go of states overrides Evaluate alone.
///
/// Evaluations may block (on a GPU or a thread pool) and may start threads of their own, so never
/// call them inside a TBB task. Only one call at a time; successive calls may come from different
/// threads.
class Evaluator {
 public:
  virtual ~Evaluator() = default;

  /// Whether Evaluate may be called. False for a policy, which estimates no costs.
  virtual bool estimates_states() const { return true; }

  /// Says which values EvaluateActions gives.
  virtual ActionValues action_values() const { return ActionValues::kNone; }

  /// Sets values[i] to the estimated cost-to-go of row i of `inputs`; a Q net takes the least of
  /// its Q values. Estimates may be negative or infinite. A NaN makes the caller throw Error that
  /// names the state. Requires estimates_states() and values.size() == inputs.size(). Throws Error
  /// if the evaluation fails.
  virtual void Evaluate(ConstRows inputs, std::span<float> values) = 0;

  /// Sets values[i * num_actions + a] to the value of action a in row i. One evaluation of a state
  /// gives the values of all its actions. Requires that action_values() is not kNone, and that
  /// values.size() == inputs.size() * num_actions. Otherwise like Evaluate.
  virtual void EvaluateActions(ConstRows /*inputs*/, std::span<float> /*values*/) {
    throw Error("this evaluator has no values of actions");
  }

  /// Sets row i of `values`, which has 1 + num_actions values, to what Evaluate and EvaluateActions
  /// give for row i of `inputs`. Requires what both require. The default calls both, which
  /// evaluates each state twice.
  virtual void EvaluateWithActions(ConstRows inputs, std::span<float> values) {
    const std::size_t count = inputs.size();
    const std::size_t width = count == 0 ? 0 : values.size() / count;
    std::vector<float> estimates(count);
    std::vector<float> of_actions(values.size() - count);
    Evaluate(inputs, estimates);
    EvaluateActions(inputs, of_actions);
    for (std::size_t i = 0; i < count; ++i) {
      values[i * width] = estimates[i];
      std::copy_n(of_actions.data() + i * (width - 1), width - 1, values.data() + i * width + 1);
    }
  }

  /// Whether the estimate of a row has the same bits whatever other rows are evaluated with it.
  /// Generators then leave out rows whose estimates they know or do not need, which does not change
  /// the labels of the other rows.
  virtual bool rows_are_independent() const { return false; }
};

}  // namespace tandem
