// Beam search with a learned heuristic.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/stop_signal.h"
#include "search/expander.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

struct BeamOptions {
  std::size_t width = 4096;          ///< states kept at each depth
  std::size_t max_length = 100;      ///< depth to give up at
  std::size_t evaluate_rows = 4096;  ///< states that the evaluator gets at once
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
  virtual ~BeamSearch() = default;

  /// Throws Stopped once `stop` is reached.
  SearchResult Solve(std::span<const std::uint8_t> start, const StopSignal& stop);

 protected:
  /// Which children of the frontier to keep, in the order of their numbers.
  virtual std::vector<std::uint32_t> Choose(const StopSignal& stop);

  const BeamOptions& options() const { return options_; }
  Expander& expander() { return expander_; }
  ConstRows frontier() const;

  /// Keeps a child from being chosen again, and says whether it was not yet.
  bool MarkKept(std::uint32_t child);

 private:
  // How a kept state came about: the index of its parent among those kept one depth before.
  struct Step {
    std::uint32_t parent;
    Action action;
  };

  std::vector<std::uint32_t> NewChildren();
  void Keep(const std::vector<std::uint32_t>& children);
  std::vector<Action> PathTo(std::size_t child) const;

  const Domain& domain_;
  const BeamOptions options_;

  std::vector<std::uint8_t> frontier_;    // the states of this depth
  std::vector<std::vector<Step>> steps_;  // by depth, beginning with depth 1
  absl::flat_hash_set<std::uint64_t> kept_;

  Expander expander_;
  absl::flat_hash_set<std::uint64_t> seen_;  // among the children of the frontier
};

}  // namespace tandem
