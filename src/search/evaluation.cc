#include "search/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/parallel.h"
#include "base/timeline.h"
#include "search/expander.h"

namespace tandem {
namespace {

constexpr std::size_t kGrain = 256;  // states per TBB task

}  // namespace

std::size_t RowsPerCall(const Config& config) {
  constexpr std::int64_t kBatchesOfGpu = 4;
  const std::int64_t batches = config.device.starts_with("cuda") ? kBatchesOfGpu : 1;
  return static_cast<std::size_t>(batches * config.inference.rows_at_once());
}

template <class StateOf, class EncodeRange>
std::span<const float> BatchEvaluator::InParts(std::size_t rows, bool of_actions,
                                               const StopSignal& stop, const StateOf& state_of,
                                               const EncodeRange& encode) {
  const DomainSpec& spec = domain_.spec();
  const auto input_size = static_cast<std::size_t>(spec.input.positions);
  const auto width = of_actions ? static_cast<std::size_t>(spec.num_actions()) : 1;
  values_.resize(rows * width);
  for (std::size_t first = 0; first < rows; first += rows_per_call_) {
    if (stop.Reached()) throw Stopped();
    const std::size_t part = std::min(rows_per_call_, rows - first);
    inputs_.resize(part * input_size);
    const Rows inputs(inputs_.data(), part, input_size);
    ForRanges(part, kGrain, [&](std::size_t begin, std::size_t count) {
      encode(first + begin, inputs.Slice(begin, count));
    });
    const auto values = std::span(values_).subspan(first * width, part * width);
    if (of_actions) {
      network_.EvaluateActions(inputs, values);
    } else {
      network_.Evaluate(inputs, values);
    }
  }
  RejectNan(domain_, values_, [&](std::size_t i) { return state_of(i / width); });
  return values_;
}

std::span<const float> BatchEvaluator::EvaluateAll(ConstRows states, bool of_actions,
                                                   const StopSignal& stop) {
  return InParts(
      states.size(), of_actions, stop, [&](std::size_t i) { return states[i]; },
      [&](std::size_t first, Rows inputs) {
        domain_.Encode(states.Slice(first, inputs.size()), inputs);
      });
}

std::span<const float> BatchEvaluator::EvaluateChosen(ConstRows states,
                                                      std::span<const std::uint32_t> chosen,
                                                      bool of_actions, const StopSignal& stop) {
  const auto state_of = [&](std::size_t i) { return states[chosen[i]]; };
  return InParts(chosen.size(), of_actions, stop, state_of, [&](std::size_t first, Rows inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      domain_.Encode(ConstRows(state_of(first + i)), inputs.Slice(i, 1));
    }
  });
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
  const std::span<const float> estimates = Estimate(expander.children(), useful, stop);
  std::vector<float> by_child(expander.size());
  for (std::size_t i = 0; i < useful.size(); ++i) by_child[useful[i]] = estimates[i];
  return by_child;
}

ChildEstimates::ChildEstimates(const Domain& domain, Evaluator& network)
    : domain_(domain), network_(network), skips_known_(network.rows_are_independent()) {
  CheckEstimatesStates("a target that backs up estimates", network);
}

void ChildEstimates::Resize(std::size_t children) {
  inputs_.resize(children * domain_.spec().input.positions);
  values_.resize(children);
  if (skips_known_) is_needed_.resize(children);
}

void ChildEstimates::Encode(const Expander& children, std::size_t first, std::size_t count) {
  const std::size_t input_size = domain_.spec().input.positions;
  domain_.Encode(children.children().Slice(first, count),
                 Rows(inputs_.data() + first * input_size, count, input_size));
  if (!skips_known_) return;
  for (std::size_t child = first; child < first + count; ++child) {
    is_needed_[child] = children.is_goal()[child] != 0 ? 0 : 1;
    values_[child] = 0;
  }
}

void ChildEstimates::Set(std::size_t child, float estimate) {
  is_needed_[child] = 0;
  values_[child] = estimate;
}

void ChildEstimates::Evaluate(const Expander& children) {
  if (values_.empty()) return;
  const Span span(Activity::kEvaluate);
  if (skips_known_) {
    EvaluateNeeded(children.hashes());
  } else {
    network_.Evaluate(InputsOf(0, values_.size()), values_);
  }
  RejectNan(domain_, values_, [&](std::size_t child) { return children.children()[child]; });
}

ConstRows ChildEstimates::InputsOf(std::size_t first, std::size_t count) const {
  const auto input_size = static_cast<std::size_t>(domain_.spec().input.positions);
  return {inputs_.data() + first * input_size, count, input_size};
}

void ChildEstimates::EvaluateNeeded(std::span<const std::uint64_t> hashes) {
  FindNeeded(hashes);
  const auto input_size = static_cast<std::size_t>(domain_.spec().input.positions);
  evaluated_inputs_.resize(evaluated_.size() * input_size);
  evaluated_values_.resize(evaluated_.size());
  const Rows inputs(evaluated_inputs_.data(), evaluated_.size(), input_size);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::ranges::copy(InputsOf(evaluated_[i], 1)[0], inputs[i].begin());
  }
  if (!evaluated_.empty()) network_.Evaluate(inputs, evaluated_values_);
  for (std::size_t child = 0; child < values_.size(); ++child) {
    if (is_needed_[child] != 0) values_[child] = evaluated_values_[place_[child]];
  }
}

// Finds the needed children that differ from each other. Repeats are compared by all the bytes of
// their encodings.
void ChildEstimates::FindNeeded(std::span<const std::uint64_t> hashes) {
  constexpr std::uint32_t kEmpty = UINT32_MAX;
  evaluated_.clear();
  place_.resize(values_.size());
  slots_.assign(std::bit_ceil(2 * values_.size()), kEmpty);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t child = 0; child < values_.size(); ++child) {
    if (is_needed_[child] == 0) continue;
    for (std::size_t slot = hashes[child] & mask;; slot = (slot + 1) & mask) {
      if (slots_[slot] == kEmpty) {
        slots_[slot] = static_cast<std::uint32_t>(evaluated_.size());
        evaluated_.push_back(static_cast<std::uint32_t>(child));
      }
      place_[child] = slots_[slot];
      const std::uint32_t other = evaluated_[place_[child]];
      if (other == child || (hashes[other] == hashes[child] &&
                             std::ranges::equal(InputsOf(other, 1)[0], InputsOf(child, 1)[0]))) {
        break;
      }
    }
  }
}

void CheckEstimatesStates(const char* user, const Evaluator& network) {
  if (network.estimates_states()) return;
  throw Error(fmt::format("{} needs an evaluator that estimates states, not a policy alone", user));
}

void CheckActionValues(const char* user, const Evaluator& network, ActionValues needed) {
  if (network.action_values() == needed) return;
  throw Error(fmt::format("{} needs an evaluator whose values of actions are {}", user,
                          needed == ActionValues::kQValues ? "Q values" : "those of a policy"));
}

Error NanEstimate(const Domain& domain, std::span<const std::uint8_t> state) {
  Error error(fmt::format(
      "the network's estimate of the {} state {} is not a number (NaN), expected a number. Its "
      "training diverged or its weights are damaged. Use an earlier checkpoint, or train with a "
      "lower optimizer.learning_rate.",
      domain.spec().name, domain.FormatState(state)));
  return error;
}

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
