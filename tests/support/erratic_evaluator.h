// Estimates that follow no pattern, but are the same in every run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/random.h"
#include "search/hash_set.h"
#include "support/head_evaluator.h"

namespace tandem {

/// A number below 1000 that depends on the state alone.
inline float NumberOf(std::span<const std::uint8_t> state) {
  return static_cast<float>(Random(HashState(state), Purpose::kShuffle).Below(1000));
}

/// ErraticEvaluator gives every state, and every action in a state, a number below 100, as a
/// network with `head`.
class ErraticEvaluator final : public HeadEvaluator {
 public:
  explicit ErraticEvaluator(Head head = Head::kV) : HeadEvaluator(head) {}

  void Evaluate(ConstRows inputs, std::span<float> values) override {
    for (std::size_t i = 0; i < inputs.size(); ++i) values[i] = Value(inputs[i], 0);
  }

  void EvaluateActions(ConstRows inputs, std::span<float> values) override {
    const std::size_t actions = values.size() / inputs.size();
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = Value(inputs[i / actions], 1 + i % actions);
    }
  }

 private:
  static float Value(std::span<const std::uint8_t> input, std::uint64_t action) {
    return static_cast<float>(Random(HashState(input), Purpose::kShuffle, action, 0).Below(100));
  }
};

}  // namespace tandem
