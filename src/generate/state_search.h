// Searches whose states become training examples: a few states per step, many searches in lock
// step.
#pragma once

#include <cstddef>
#include <memory>

#include "base/random.h"
#include "config/config.h"
#include "generate/bellman.h"
#include "tandem/domain.h"

namespace tandem {

/// StateSearch decides which states to expand next. Its caller expands the states and evaluates
/// their children. Each search owns the states of a batch from number `first` on, as many as
/// GenerateConfig::states_per_step, and touches no others, so several threads may advance different
/// searches of a batch at once.
class StateSearch {
 public:
  virtual ~StateSearch() = default;

  /// Starts a new search from state `first`, whose bytes and bound must be set, and discards the
  /// previous search.
  virtual void Begin(StateBatch& batch, std::size_t first) = 0;

  /// Replaces the states from `first` on, their bounds and their estimates with those of the next
  /// states to expand, and returns their number. Requires that the children of the current states
  /// were evaluated and that none of them is a goal. If there are no next states, for example
  /// because no action applies, returns 0 and leaves the states unchanged.
  virtual std::size_t Next(StateBatch& batch, std::size_t first, Random random) = 0;
};

/// Creates the search that generate.search selects; null for none. `spec` and `config` must outlive
/// the result.
///
/// With generate.temperature above 0, a greedy rollout draws its action, and a beam its states,
/// with probabilities proportional to exp(-c / temperature), where c is the cost of the path plus
/// the estimate (Boltzmann exploration; DeepXube's temp).
///
/// A greedy rollout takes the action with the least sum of its cost and its child's estimate or,
/// with probability generate.search_epsilon, a random one, because a poor network leads it in
/// circles. Like a random walk, it undoes its last action only in a dead end.
///
/// A beam expands up to generate.search_beam_width states per step: the children of its current
/// states with the least sum of path cost and estimate. States that it has expanded before are left
/// out. The estimates with which a beam ranks the children of its states are those that label the
/// states, so the labels cost no evaluations of their own.
///
/// A* expands the open state with the least search_weight * cost + estimate.
std::unique_ptr<StateSearch> MakeStateSearch(const DomainSpec& spec, const GenerateConfig& config);

}  // namespace tandem
