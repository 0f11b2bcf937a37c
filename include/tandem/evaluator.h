// The interface through which searches and generators evaluate states.
#pragma once

#include <span>

#include "tandem/rows.h"

namespace tandem {

/// Evaluator estimates the cost-to-go of states that Domain::Encode has encoded.
///
/// Evaluate may block (on a GPU or a thread pool) and may start threads of its own, so never call
/// it inside a TBB task. Only one call at a time; successive calls may come from different threads.
class Evaluator {
 public:
  virtual ~Evaluator() = default;

  /// Sets values[i] to the estimated cost-to-go of row i of `inputs`. Estimates may be negative or
  /// infinite. A NaN makes the caller throw Error that names the state. Requires values.size() ==
  /// inputs.size(). Throws Error if the evaluation fails.
  virtual void Evaluate(ConstRows inputs, std::span<float> values) = 0;

  /// Whether the estimate of a row has the same bits whatever other rows are evaluated with it.
  /// Generators then leave out rows whose estimates they know or do not need, which does not change
  /// the labels of the other rows.
  virtual bool rows_are_independent() const { return false; }
};

/// QEvaluator is an Evaluator with one value per action: a Q net or a policy. One evaluation of a
/// state gives the values of all its actions. Evaluate of a Q net estimates a state by the least of
/// them. A policy has no estimates, so its Evaluate throws Error.
class QEvaluator : public Evaluator {
 public:
  /// Sets values[i * num_actions + a] to the Q value of action a in row i: the action's cost plus
  /// the estimated cost-to-go of its child. For a policy, the value is minus the logarithm of the
  /// action's probability. Requires values.size() == inputs.size() * num_actions.
  /// Otherwise like Evaluate.
  virtual void EvaluateActions(ConstRows inputs, std::span<float> values) = 0;
};

}  // namespace tandem
