// What searches and generators ask for heuristic values.
#pragma once

#include <span>

#include "tandem/rows.h"

namespace tandem {

/// Estimates the cost-to-go of states from what Domain::Encode wrote of them.
///
/// Evaluate may block (on a GPU, on a thread pool) and may start threads of its own, so never call
/// it inside a TBB task. One call at a time; successive calls may come from different threads.
class Evaluator {
 public:
  virtual ~Evaluator() = default;

  /// Sets values[i] to the estimate for row i of `inputs`; estimates may be negative
  /// or infinite, but a NaN ends whatever asked for it with an Error that names the state. Requires
  /// values.size() == inputs.size(). Throws Error when the evaluation fails.
  virtual void Evaluate(ConstRows inputs, std::span<float> values) = 0;
};

/// An Evaluator that also knows what each action leads to, from one evaluation of the state: a Q
/// net. The value of a state is the least of its actions'.
class QEvaluator : public Evaluator {
 public:
  /// Sets values[i * num_actions + a] to the estimate, for row i, of the cost of action a and the
  /// cost-to-go of the child it leads to. As Evaluate in all else.
  virtual void EvaluateActions(ConstRows inputs, std::span<float> values) = 0;
};

}  // namespace tandem
