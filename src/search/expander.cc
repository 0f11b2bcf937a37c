#include "search/expander.h"

#include <algorithm>

#include "base/parallel.h"
#include "search/estimates.h"

namespace tandem {
namespace {

constexpr std::size_t kGrain = 256;  // states per TBB task

}  // namespace

Expander::Expander(const Domain& domain, Evaluator& evaluator, std::size_t evaluate_rows)
    : domain_(domain), evaluator_(evaluator), evaluate_rows_(evaluate_rows), children_(domain) {}

void Expander::Expand(ConstRows states) {
  children_.Resize(states.size());
  ForRanges(states.size(), kGrain, [&](std::size_t first, std::size_t count) {
    children_.Expand(states.Slice(first, count), first);
  });
}

std::span<const float> Expander::Estimate(ConstRows states, std::span<const std::uint32_t> chosen,
                                          const StopSignal& stop) {
  const auto encode = [&](std::size_t first, Rows inputs) {
    ForRanges(inputs.size(), kGrain, [&](std::size_t begin, std::size_t count) {
      for (std::size_t i = begin; i < begin + count; ++i) {
        domain_.Encode(ConstRows(states[chosen[first + i]]), inputs.Slice(i, 1));
      }
    });
  };
  const std::span<const float> values =
      InSlices(chosen.size(), 1, stop, encode,
               [&](ConstRows inputs, std::span<float> into) { evaluator_.Evaluate(inputs, into); });
  CheckEstimates(domain_, values, [&](std::size_t i) { return states[chosen[i]]; });
  return values;
}

std::span<const float> Expander::EstimateActions(QEvaluator& q_net, ConstRows states,
                                                 const StopSignal& stop) {
  const auto encode = [&](std::size_t first, Rows inputs) {
    ForRanges(inputs.size(), kGrain, [&](std::size_t begin, std::size_t count) {
      domain_.Encode(states.Slice(first + begin, count), inputs.Slice(begin, count));
    });
  };
  const std::size_t num_actions = domain_.spec().num_actions();
  const std::span<const float> values = InSlices(
      states.size(), num_actions, stop, encode,
      [&](ConstRows inputs, std::span<float> into) { q_net.EvaluateActions(inputs, into); });
  CheckEstimates(domain_, values, [&](std::size_t i) { return states[i / num_actions]; });
  return values;
}

// Works in slices so that a stop takes effect quickly and the inputs stay in cache.
template <class Encode, class Evaluate>
std::span<const float> Expander::InSlices(std::size_t rows, std::size_t width,
                                          const StopSignal& stop, const Encode& encode,
                                          const Evaluate& evaluate) {
  const auto input_size = static_cast<std::size_t>(domain_.spec().input.positions);
  values_.resize(rows * width);
  for (std::size_t first = 0; first < rows; first += evaluate_rows_) {
    if (stop.Reached()) throw Stopped();
    const std::size_t count = std::min(evaluate_rows_, rows - first);
    inputs_.resize(count * input_size);
    const Rows inputs(inputs_.data(), count, input_size);
    encode(first, inputs);
    evaluate(inputs, std::span(values_).subspan(first * width, count * width));
  }
  return values_;
}

}  // namespace tandem
