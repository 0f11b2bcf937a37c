// Evaluators that compute their values with a function of the input row.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "support/wait.h"
#include "tandem/evaluator.h"

namespace tandem {

/// StandInEvaluator computes each value with a function of the input row.
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

/// SlowOnceEvaluator is a StandInEvaluator that takes `time` for one of its rows: the one with the
/// number `slow_row`, counting from 1.
class SlowOnceEvaluator final : public Evaluator {
 public:
  SlowOnceEvaluator(int slow_row, std::chrono::milliseconds time,
                    StandInEvaluator::Function function)
      : slow_row_(slow_row), time_(time), function_(std::move(function)) {}

  void Evaluate(ConstRows inputs, std::span<float> values) override {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (++rows_ == slow_row_) TakeTime(time_);
      values[i] = function_(inputs[i]);
    }
  }

  /// The number of rows evaluated so far.
  int rows() const { return rows_; }

 private:
  const int slow_row_;
  const std::chrono::milliseconds time_;
  const StandInEvaluator::Function function_;
  int rows_ = 0;
};

}  // namespace tandem
