#include "generate/child_estimates.h"

#include <algorithm>
#include <bit>

#include "base/timeline.h"
#include "search/evaluation.h"

namespace tandem {

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

}  // namespace tandem
