#include "train/online_evaluator.h"

namespace tandem {

void OnlineEvaluator::Evaluate(ConstRows inputs, std::span<float> values) {
  if (steps_of_copy_ != trainer_.num_steps()) {
    copy_.Load(trainer_.net());
    steps_of_copy_ = trainer_.num_steps();
  }
  copy_.Evaluate(inputs, values);
}

}  // namespace tandem
