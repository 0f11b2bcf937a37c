// Beam search with a learned heuristic.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/stop_signal.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

struct BeamOptions {
  std::size_t width = 4096;      ///< states kept at each depth
  std::size_t max_length = 100;  ///< depth to give up at
};

struct SearchResult {
  bool solved = false;
  std::vector<Action> actions;  ///< from the start to a goal, if solved
  std::int64_t nodes = 0;       ///< states generated
};

/// Keeps, at each depth, the `width` states of least estimated cost-to-go among all children of
/// the depth before; a state that was kept at an earlier depth, or stands twice in this one, is
/// dropped, and so is what an action makes that does not apply, a copy of the parent. Ends at the
/// first depth with a goal. States are told apart by 64-bit hashes: with a million states kept,
/// the chance that any two collide is about 3e-8.
///
/// Uses the TBB threads of the arena it is called in; the evaluator is called between, from the
/// calling thread. One Solve at a time; memory is kept for the next.
class BeamSearch {
 public:
  /// `domain` and `evaluator` must outlive this.
  BeamSearch(const Domain& domain, Evaluator& evaluator, BeamOptions options);

  /// Throws Stopped once `stop` is reached.
  SearchResult Solve(std::span<const std::uint8_t> start, const StopSignal& stop);

 private:
  // How a kept state came about: the index of its parent among those kept one depth before.
  struct Step {
    std::uint32_t parent;
    Action action;
  };

  Rows ExpandFrontier();
  std::vector<std::uint32_t> NewChildren(ConstRows children);
  void KeepBest(ConstRows children, std::vector<std::uint32_t> candidates);
  std::vector<Action> PathTo(std::size_t child) const;

  const Domain& domain_;
  Evaluator& evaluator_;
  const BeamOptions options_;

  std::vector<std::uint8_t> frontier_;    // the states of this depth
  std::vector<std::vector<Step>> steps_;  // by depth, beginning with depth 1
  absl::flat_hash_set<std::uint64_t> kept_;

  // Of the children of the frontier.
  std::vector<std::uint8_t> children_;
  std::vector<std::uint64_t> hashes_;
  std::vector<std::uint8_t> is_goal_;
  absl::flat_hash_set<std::uint64_t> seen_;
  std::vector<std::uint8_t> inputs_;
  std::vector<float> values_;
};

}  // namespace tandem
