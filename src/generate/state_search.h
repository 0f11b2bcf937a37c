// Searches as generators run them: one state expanded at a step, and everything in lock step.
#pragma once

#include <cstddef>
#include <memory>

#include "base/random.h"
#include "config/train_config.h"
#include "generate/bellman.h"
#include "tandem/domain.h"

namespace tandem {

struct StateSearchOptions {
  GenerateSearch method = GenerateSearch::kNone;
  double epsilon = 0;  ///< of greedy rollouts
  float weight = 1;    ///< of A*
};

/// Says which state to expand next; whoever calls it makes the children and asks the network. State
/// i of a batch is one search's: others may go on beside it, on other threads.
class StateSearch {
 public:
  virtual ~StateSearch() = default;

  /// Starts at state i, whose bytes and bound are there. What was before is forgotten.
  virtual void Begin(const Expanded& batch, std::size_t i) = 0;

  /// Puts the state to expand next, with its bound, in the place of state i, whose children were
  /// evaluated and are no goals. False if there is none.
  virtual bool Next(Expanded& batch, std::size_t i, Random random) = 0;
};

/// The search that `options` ask for; null for kNone. `spec` must outlive it.
///
/// A greedy rollout steps to the child of least cost and estimate, the first of equals; with
/// probability `epsilon` to any, so that it leaves the circles into which a poor network leads it.
/// Like a random walk, it steps straight back only out of a dead end.
///
/// A* expands the open state of least weight * cost + estimate.
std::unique_ptr<StateSearch> MakeStateSearch(const DomainSpec& spec,
                                             const StateSearchOptions& options);

}  // namespace tandem
