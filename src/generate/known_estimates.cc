#include "generate/known_estimates.h"

#include <algorithm>
#include <cmath>

#include "search/expander.h"
#include "search/hash_set.h"

namespace tandem {

void KnownEstimates::Clear() {
  by_hash_.clear();
  states_.clear();
  estimates_.clear();
}

// Of two states with the same hash, the second is not added, and is evaluated where it is needed.
void KnownEstimates::Add(std::span<const std::uint8_t> state, float estimate) {
  const auto next = static_cast<std::uint32_t>(estimates_.size());
  if (!by_hash_.try_emplace(HashState(state), next).second) return;
  states_.insert(states_.end(), state.begin(), state.end());
  estimates_.push_back(estimate);
}

void KnownEstimates::AddAndReuse(StateBatch& batch, std::size_t first, std::size_t count) {
  for (std::size_t i = first; i < first + count; ++i) {
    if (!std::isnan(batch.estimates[i])) Add(batch.rows()[i], batch.estimates[i]);
  }
  if (estimates_.empty()) return;
  const Expander& children = batch.children;
  const auto num_actions = static_cast<std::size_t>(batch.domain.spec().num_actions());
  for (std::size_t child = first * num_actions; child < (first + count) * num_actions; ++child) {
    if (children.is_goal()[child] != 0) continue;
    const auto found = by_hash_.find(children.hashes()[child]);
    if (found == by_hash_.end()) continue;
    const std::span<const std::uint8_t> state = children.children()[child];
    const auto known = std::span(states_).subspan(found->second * state.size(), state.size());
    if (std::ranges::equal(state, known)) {
      batch.child_estimates.Set(child, estimates_[found->second]);
    }
  }
}

}  // namespace tandem
