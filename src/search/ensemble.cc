#include "search/ensemble.h"

namespace tandem {

template <class EvaluateOne>
void Ensemble::Average(std::span<float> values, const EvaluateOne& evaluate) {
  evaluate(*networks_.front(), values);
  if (networks_.size() == 1) return;
  of_one_.resize(values.size());
  for (std::size_t i = 1; i < networks_.size(); ++i) {
    evaluate(*networks_[i], std::span<float>(of_one_));
    for (std::size_t v = 0; v < values.size(); ++v) values[v] += of_one_[v];
  }
  const float share = 1 / static_cast<float>(networks_.size());
  for (float& value : values) value *= share;
}

void Ensemble::Evaluate(ConstRows inputs, std::span<float> values) {
  Average(values,
          [&](Evaluator& network, std::span<float> into) { network.Evaluate(inputs, into); });
}

void Ensemble::EvaluateActions(ConstRows inputs, std::span<float> values) {
  Average(values, [&](Evaluator& network, std::span<float> into) {
    network.EvaluateActions(inputs, into);
  });
}

}  // namespace tandem
