// An Evaluator that computes its values with a function of the input row.
#pragma once

#include <functional>
#include <utility>

#include "tandem/evaluator.h"

namespace tandem {

class StandInEvaluator final : public Evaluator {
 public:
  using Function = std::function<float(std::span<const std::uint8_t>)>;

  explicit StandInEvaluator(Function function) : function_(std::move(function)) {}

  void Evaluate(ConstRows inputs, std::span<float> values) override {
    for (std::size_t i = 0; i < inputs.size(); ++i) values[i] = function_(inputs[i]);
  }

 private:
  Function function_;
};

}  // namespace tandem
