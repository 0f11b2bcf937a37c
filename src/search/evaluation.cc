#include "search/evaluation.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/parallel.h"
#include "search/expander.h"

namespace tandem {
namespace {

constexpr std::size_t kGrain = 256;  // states per TBB task

}  // namespace

BatchEvaluator::BatchEvaluator(const Domain& domain, Evaluator& network, std::size_t rows_at_once)
    : domain_(domain), network_(network), rows_at_once_(rows_at_once) {}

template <class StateOf, class EncodeRange, class Evaluate>
std::span<const float> BatchEvaluator::InSlices(std::size_t rows, std::size_t width,
                                                const StopSignal& stop, const StateOf& state_of,
                                                const EncodeRange& encode,
                                                const Evaluate& evaluate) {
  const auto input_size = static_cast<std::size_t>(domain_.spec().input.positions);
  values_.resize(rows * width);
  for (std::size_t first = 0; first < rows; first += rows_at_once_) {
    if (stop.Reached()) throw Stopped();
    const std::size_t slice = std::min(rows_at_once_, rows - first);
    inputs_.resize(slice * input_size);
    const Rows inputs(inputs_.data(), slice, input_size);
    ForRanges(slice, kGrain, [&](std::size_t begin, std::size_t count) {
      encode(first + begin, inputs.Slice(begin, count));
    });
    evaluate(inputs, std::span(values_).subspan(first * width, slice * width));
  }
  RejectNan(domain_, values_, [&](std::size_t i) { return state_of(i / width); });
  return values_;
}

template <class Evaluate>
std::span<const float> BatchEvaluator::EvaluateAll(ConstRows states, std::size_t width,
                                                   const StopSignal& stop,
                                                   const Evaluate& evaluate) {
  return InSlices(
      states.size(), width, stop, [&](std::size_t i) { return states[i]; },
      [&](std::size_t first, Rows inputs) {
        domain_.Encode(states.Slice(first, inputs.size()), inputs);
      },
      evaluate);
}

std::span<const float> BatchEvaluator::Estimate(ConstRows states, const StopSignal& stop) {
  return EvaluateAll(states, 1, stop, [&](ConstRows inputs, std::span<float> values) {
    network_.Evaluate(inputs, values);
  });
}

std::span<const float> BatchEvaluator::Estimate(ConstRows states,
                                                std::span<const std::uint32_t> chosen,
                                                const StopSignal& stop) {
  const auto state_of = [&](std::size_t i) { return states[chosen[i]]; };
  return InSlices(
      chosen.size(), 1, stop, state_of,
      [&](std::size_t first, Rows inputs) {
        for (std::size_t i = 0; i < inputs.size(); ++i) {
          domain_.Encode(ConstRows(state_of(first + i)), inputs.Slice(i, 1));
        }
      },
      [&](ConstRows inputs, std::span<float> values) { network_.Evaluate(inputs, values); });
}

std::vector<float> BatchEvaluator::EstimateChildren(const Expander& expander,
                                                    const StopSignal& stop) {
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

std::span<const float> BatchEvaluator::EvaluateActions(ConstRows states, const StopSignal& stop) {
  const auto num_actions = static_cast<std::size_t>(domain_.spec().num_actions());
  return EvaluateAll(states, num_actions, stop, [&](ConstRows inputs, std::span<float> values) {
    network_.EvaluateActions(inputs, values);
  });
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
