#include "python_evaluator.h"

#include <algorithm>
#include <utility>

#include "arrays.h"
#include "data/examples.h"

namespace tandem::python {

PythonEvaluator::PythonEvaluator(nb::handle function, const DomainSpec& spec, Head head,
                                 std::int64_t most_rows, const StopSignal& stop)
    : function_(function),
      head_(head),
      num_actions_(static_cast<std::size_t>(spec.num_actions())),
      width_(TargetWidth(spec, head)),
      most_rows_(static_cast<std::size_t>(most_rows)),
      stop_(stop) {}

ActionValues PythonEvaluator::action_values() const {
  if (IsQ(head_)) return ActionValues::kQValues;
  return HasPolicy(head_) ? ActionValues::kSurprisals : ActionValues::kNone;
}

// The cost-to-go is the first output, or of a Q net the least.
void PythonEvaluator::Evaluate(ConstRows inputs, std::span<float> values) {
  const std::vector<float> outputs = Outputs(inputs);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto of_state = std::span(outputs).subspan(i * width_, width_);
    values[i] = IsQ(head_) ? std::ranges::min(of_state) : of_state[0];
  }
}

// The values of actions are the last outputs.
void PythonEvaluator::EvaluateActions(ConstRows inputs, std::span<float> values) {
  const std::vector<float> outputs = Outputs(inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto of_state = std::span(outputs).subspan(i * width_, width_);
    std::ranges::copy(of_state.last(num_actions_), values.subspan(i * num_actions_).begin());
  }
}

// The outputs of head vp are the values of a state and its actions.
void PythonEvaluator::EvaluateWithActions(ConstRows inputs, std::span<float> values) {
  if (head_ != Head::kVp) return Evaluator::EvaluateWithActions(inputs, values);
  std::ranges::copy(Outputs(inputs), values.begin());
}

std::vector<float> PythonEvaluator::Outputs(ConstRows inputs) const {
  std::vector<float> outputs(inputs.size() * width_);
  for (std::size_t first = 0; first < inputs.size(); first += most_rows_) {
    if (stop_.Reached()) throw Stopped();
    const std::size_t count = std::min(most_rows_, inputs.size() - first);
    Call(inputs.Slice(first, count), std::span(outputs).subspan(first * width_, count * width_));
  }
  return outputs;
}

void PythonEvaluator::Call(ConstRows inputs, std::span<float> outputs) const {
  using Floats = nb::ndarray<const float, nb::numpy, nb::c_contig, nb::device::cpu>;
  const nb::gil_scoped_acquire gil;
  auto array = NewArray<std::uint8_t>({inputs.size(), inputs.row_size()});
  std::ranges::copy(inputs.bytes(), array.data());
  const auto found = nb::cast<Floats>(function_(std::move(array)));
  std::copy_n(found.data(), outputs.size(), outputs.begin());
}

}  // namespace tandem::python
