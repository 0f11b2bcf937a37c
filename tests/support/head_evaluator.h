// Evaluators that give what a network with a certain head gives.
#pragma once

#include "config/choices.h"
#include "tandem/evaluator.h"

namespace tandem {

/// HeadEvaluator is the base of evaluators that give what a network with `head` gives.
class HeadEvaluator : public Evaluator {
 public:
  explicit HeadEvaluator(Head head) : head_(head) {}

  bool estimates_states() const final { return head_ != Head::kPolicy; }
  ActionValues action_values() const final {
    if (head_ == Head::kV) return ActionValues::kNone;
    return IsQ(head_) ? ActionValues::kQValues : ActionValues::kSurprisals;
  }

 private:
  Head head_;
};

}  // namespace tandem
