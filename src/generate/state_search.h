// Searches whose states become training examples: one state per step, many searches in lock step.
#pragma once

#include <cstddef>
#include <memory>

#include "base/random.h"
#include "config/config.h"
#include "generate/bellman.h"
#include "tandem/domain.h"

namespace tandem {

/// StateSearchOptions are the options of the searches that MakeStateSearch creates.
struct StateSearchOptions {
  GenerateSearch method = GenerateSearch::kNone;
  double epsilon = 0;  ///< greedy rollouts: probability of a random action
  float weight = 1;    ///< A*: factor of the path cost (AStarOptions::weight)
};

/// StateSearch decides which state to expand next. Its caller expands the states and evaluates
/// their children. Each search owns one state of a batch, number i, and touches no other, so
/// several threads may advance different searches of a batch at once.
class StateSearch {
 public:
  virtual ~StateSearch() = default;

  /// Starts a new search from state i, whose bytes and bound must be set, and discards the previous
  /// search.
  virtual void Begin(const ExpandedBatch& batch, std::size_t i) = 0;

  /// Replaces state i and its bound with the next state to expand. Requires that the children of
  /// state i were evaluated and that none of them is a goal. Returns false, and leaves state i
  /// unchanged, if there is no next state.
  virtual bool Next(ExpandedBatch& batch, std::size_t i, Random random) = 0;
};

/// Creates the search that `options` selects; null for kNone. `spec` must outlive the result.
///
/// A greedy rollout steps to the child with the least sum of action cost and estimate; ties go to
/// the first action. With probability `epsilon` it takes a random action instead, because a poor
/// network leads it in circles. Like a random walk, it undoes its last action only in a dead end.
///
/// A* expands the open state with the least weight * cost + estimate.
std::unique_ptr<StateSearch> MakeStateSearch(const DomainSpec& spec,
                                             const StateSearchOptions& options);

}  // namespace tandem
