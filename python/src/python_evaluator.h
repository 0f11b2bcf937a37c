// Networks and heuristics of a caller in Python.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/stop_signal.h"
#include "config/choices.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem::python {

/// PythonEvaluator calls a Python function with the inputs of states, an array of uint8 of shape
/// (n, positions). The function returns float32 of shape (n, TargetWidth(spec, head)), where the
/// outputs of a policy are minus the logarithms of probabilities. Evaluate throws what it raises.
class PythonEvaluator final : public Evaluator {
 public:
  /// A call has at most `most_rows` rows. Between two calls, `stop` ends the evaluation with
  /// Stopped. `function` and `stop` must outlive this object.
  PythonEvaluator(nanobind::handle function, const DomainSpec& spec, Head head,
                  std::int64_t most_rows, const StopSignal& stop);

  bool estimates_states() const override { return EstimatesCosts(head_); }
  ActionValues action_values() const override;
  void Evaluate(ConstRows inputs, std::span<float> values) override;
  void EvaluateActions(ConstRows inputs, std::span<float> values) override;
  void EvaluateWithActions(ConstRows inputs, std::span<float> values) override;

 private:
  std::vector<float> Outputs(ConstRows inputs) const;
  void Call(ConstRows inputs, std::span<float> outputs) const;

  const nanobind::handle function_;
  const Head head_;
  const std::size_t num_actions_;
  const std::size_t width_;  // outputs of a state
  const std::size_t most_rows_;
  const StopSignal& stop_;
};

}  // namespace tandem::python
