#include "search/expander.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/parallel.h"
#include "tandem/error.h"

namespace tandem {

void CheckEstimates(const Domain& domain, std::span<const float> values,
                    const std::function<std::span<const std::uint8_t>(std::size_t)>& state_of) {
  const auto found = std::ranges::find_if(values, [](float value) { return std::isnan(value); });
  if (found == values.end()) return;
  const auto i = static_cast<std::size_t>(found - values.begin());
  throw Error(fmt::format(
      "the network's estimate of the {} state {} is not a number (NaN), expected a number. Its "
      "training diverged or its weights are damaged. Use an earlier checkpoint, or train with a "
      "lower optimizer.learning_rate.",
      domain.spec().name, domain.FormatState(state_of(i))));
}

std::uint64_t HashState(std::span<const std::uint8_t> state) {
  return XXH3_64bits(state.data(), state.size());
}

std::int64_t Children::BytesFor(const DomainSpec& spec, std::int64_t states) {
  constexpr std::int64_t kIsGoalAndUnchanged = 2;
  return states * static_cast<std::int64_t>(spec.num_actions()) *
         (spec.state_size + kIsGoalAndUnchanged + static_cast<std::int64_t>(sizeof(std::uint64_t)));
}

void Children::Resize(std::size_t states) {
  const std::size_t num_children = states * domain_.spec().num_actions();
  rows_.resize(num_children * domain_.spec().state_size);
  is_goal_.resize(num_children);
  unchanged_.resize(num_children);
  hashes_.resize(num_children);
}

void Children::Expand(ConstRows states, std::size_t first) {
  const std::size_t num_actions = domain_.spec().num_actions();
  const std::size_t state_size = states.row_size();
  const Rows children(rows_.data() + first * num_actions * state_size, states.size() * num_actions,
                      state_size);
  domain_.Expand(states, children);
  domain_.IsGoal(children, std::span(is_goal_).subspan(first * num_actions, children.size()));
  for (std::size_t i = 0; i < children.size(); ++i) {
    const std::uint8_t* parent = states[i / num_actions].data();
    const bool same = std::memcmp(children[i].data(), parent, state_size) == 0;
    unchanged_[first * num_actions + i] = same ? 1 : 0;
    if (!same) hashes_[first * num_actions + i] = HashState(children[i]);
  }
}

ConstRows Children::rows() const {
  return {rows_.data(), is_goal_.size(), static_cast<std::size_t>(domain_.spec().state_size)};
}

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
