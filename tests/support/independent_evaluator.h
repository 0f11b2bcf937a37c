// An Evaluator whose estimates do not depend on what else it evaluates.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "tandem/evaluator.h"

namespace tandem {

/// IndependentEvaluator computes its values with a function of the input row, as StandInEvaluator
/// does, says so, and counts the rows.
class IndependentEvaluator final : public Evaluator {
 public:
  using Function = std::function<float(std::span<const std::uint8_t>)>;

  explicit IndependentEvaluator(Function function) : function_(std::move(function)) {}

  void Evaluate(ConstRows inputs, std::span<float> values) override {
    for (std::size_t i = 0; i < inputs.size(); ++i) values[i] = function_(inputs[i]);
    rows_ += inputs.size();
  }

  bool rows_are_independent() const override { return true; }
  std::size_t rows() const { return rows_; }

 private:
  Function function_;
  std::size_t rows_ = 0;
};

}  // namespace tandem
