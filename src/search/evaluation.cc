#include "search/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/parallel.h"

namespace tandem {
namespace {

constexpr std::size_t kStatesPerTask = 256;

}  // namespace

std::size_t RowsPerCall(const Config& config) {
  constexpr std::int64_t kBatchesOfGpu = 4;
  const std::int64_t batches = config.device.starts_with("cuda") ? kBatchesOfGpu : 1;
  return static_cast<std::size_t>(batches * config.inference.rows_at_once());
}

std::span<const float> BatchEvaluator::Evaluate(ConstRows states, bool of_actions,
                                                const StopSignal& stop) {
  const DomainSpec& spec = domain_.spec();
  const auto input_size = static_cast<std::size_t>(spec.input.positions);
  const auto width = of_actions ? static_cast<std::size_t>(spec.num_actions()) : 1;
  values_.resize(states.size() * width);
  for (std::size_t first = 0; first < states.size(); first += rows_per_call_) {
    if (stop.Reached()) throw Stopped();
    const std::size_t part = std::min(rows_per_call_, states.size() - first);
    inputs_.resize(part * input_size);
    const Rows inputs(inputs_.data(), part, input_size);
    ForRanges(part, spec.TaskRows(kStatesPerTask), [&](std::size_t begin, std::size_t count) {
      domain_.Encode(states.Slice(first + begin, count), inputs.Slice(begin, count));
    });
    const auto values = std::span(values_).subspan(first * width, part * width);
    if (of_actions) {
      network_.EvaluateActions(inputs, values);
    } else {
      network_.Evaluate(inputs, values);
    }
  }
  RejectNan(domain_, values_, states);
  return values_;
}

std::vector<float> BatchEvaluator::ValuesOfChildren(Ranking ranking, ConstRows states,
                                                    const Expander& expander,
                                                    const StopSignal& stop) {
  if (ranking != Ranking::kByStates) {
    const std::span<const float> values = EvaluateActions(states, stop);
    return {values.begin(), values.end()};
  }
  std::vector<std::uint32_t> useful;
  useful.reserve(expander.size());
  for (std::uint32_t child = 0; child < expander.size(); ++child) {
    if (expander.is_left_out()[child] == 0) useful.push_back(child);
  }
  std::vector<std::uint8_t> states_of_useful;
  const std::span<const float> estimates = Estimate(expander.Build(useful, states_of_useful), stop);
  std::vector<float> by_child(expander.size());
  for (std::size_t i = 0; i < useful.size(); ++i) by_child[useful[i]] = estimates[i];
  return by_child;
}

void CheckEstimatesStates(const char* user, const Evaluator& network) {
  if (network.estimates_states()) return;
  throw Error(fmt::format("{} needs an evaluator that estimates states, not a policy alone", user));
}

Error NanEstimate(const Domain& domain, std::span<const std::uint8_t> state) {
  Error error(fmt::format(
      "the network's estimate of the {} state {} is not a number (NaN), expected a number. Its "
      "training diverged or its weights are damaged. Use an earlier checkpoint, or train with a "
      "lower optimizer.learning_rate.",
      domain.spec().name, domain.FormatState(state)));
  return error;
}

void RejectNan(const Domain& domain, std::span<const float> values, ConstRows states) {
  const auto found = std::ranges::find_if(values, [](float value) { return std::isnan(value); });
  if (found == values.end()) return;
  const std::size_t values_of_state = values.size() / states.size();
  throw NanEstimate(domain,
                    states[static_cast<std::size_t>(found - values.begin()) / values_of_state]);
}

void Ensemble::Average(void (Evaluator::*evaluate)(ConstRows, std::span<float>), ConstRows inputs,
                       std::span<float> values) {
  (networks_.front()->*evaluate)(inputs, values);
  if (networks_.size() == 1) return;
  of_one_.resize(values.size());
  for (Evaluator* const network : std::span(networks_).subspan(1)) {
    (network->*evaluate)(inputs, of_one_);
    for (std::size_t v = 0; v < values.size(); ++v) values[v] += of_one_[v];
  }
  const float share = 1 / static_cast<float>(networks_.size());
  for (float& value : values) value *= share;
}

}  // namespace tandem
