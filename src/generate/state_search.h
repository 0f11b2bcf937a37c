// Searches whose states become training examples: one state per step, many searches in lock step.
#pragma once

#include <cstddef>
#include <memory>

#include "base/random.h"
#include "config/config.h"
#include "generate/bellman.h"
#include "tandem/domain.h"

namespace tandem {

/// StateSearch decides which state to expand next. Its caller expands the states and evaluates
/// their children. Each search owns one state of a batch, number i, and touches no other, so
/// several threads may advance different searches of a batch at once.
class StateSearch {
 public:
  virtual ~StateSearch() = default;

  /// Starts a new search from state i, whose bytes and bound must be set, and discards the previous
  /// search.
  virtual void Begin(StateBatch& batch, std::size_t i) = 0;

  /// Replaces state i and its bound with the next state to expand. Requires that the children of
  /// state i were evaluated and that none of them is a goal. Returns false, and leaves state i
  /// unchanged, if there is no next state.
  virtual bool Next(StateBatch& batch, std::size_t i, Random random) = 0;
};

/// Creates the search that generate.search selects; null for none. `spec` and `config` must outlive
/// the result.
///
/// A greedy rollout takes the action of GreedyAction or, with probability generate.search_epsilon,
/// a random one, because a poor network leads it in circles. Like a random walk, it undoes its last
/// action only in a dead end.
///
/// A* expands the open state with the least search_weight * cost + estimate.
std::unique_ptr<StateSearch> MakeStateSearch(const DomainSpec& spec, const GenerateConfig& config);

}  // namespace tandem
