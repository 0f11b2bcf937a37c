// Batched weighted A* search over many puzzles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "search/astar_tree.h"
#include "search/expander.h"
#include "search/search.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

/// AStar solves puzzles by batched weighted A* (BWAS; Agostinelli et al. 2019, DeepCubeA). It
/// expands the states with the least weight * cost + estimate first, up to `batch` states of each
/// puzzle per step. Many puzzles advance in lock step: each step makes one expansion of all popped
/// states and one evaluation of all new states among their children. Each state is evaluated once.
/// The estimate of a goal is 0.
///
/// A search starts with one state per step. Its batch then grows to a tenth of the states that it
/// has expanded. So an easy puzzle expands few states, and a hard one fills the evaluator's
/// batches.
///
/// A search keeps the cheapest solution found so far. It ends when no open state has a value below
/// weight * cost of that solution. If a cheaper path to a closed state is found, the state is
/// opened again. If the estimates are admissible (never above the true cost-to-go), these bounds
/// hold for every batch size:
///   - weight >= 1: the solution has the least cost;
///   - 0 < weight < 1: its cost is at most 1 / weight times the least;
///   - weight 0 (greedy best-first search): no bound; the first solution found is returned.
/// Values are 32-bit floats, so "least" holds up to their rounding.
///
/// States are compared by all their bytes. Without time limits, results do not depend on the number
/// of threads, nor on which puzzles are solved at the same time, except that the evaluator's
/// rounding may depend on its batch.
class AStar final : public Search {
 public:
  /// `domain` and `evaluator` must outlive this. Throws Error if the weight is negative, infinite
  /// or NaN, or if `batch` or `instances` is 0.
  AStar(const Domain& domain, Evaluator& evaluator, AStarOptions options);

  /// Puzzles start in the order of `starts` and finish in any order.
  void SolveAll(ConstRows starts, const StopSignal& stop, const Done& done) override;

 private:
  struct Running {
    std::size_t number;  // index of the puzzle in `starts`
    std::unique_ptr<AStarTree> tree;
  };

  Running Begin(std::size_t number, ConstRows starts, std::vector<std::uint32_t>& to_estimate);
  void Step(std::vector<Running>& running, const StopSignal& stop);

  const Domain& domain_;
  const AStarOptions options_;
  Expander expander_;

  // Buffers of the current step, over all puzzles.
  std::vector<std::size_t> first_state_;  // for each puzzle, the index of its first state
  std::vector<std::uint8_t> states_;
  std::vector<std::uint32_t> fresh_;
};

/// An upper bound on the memory, in bytes, of one puzzle's search with `nodes` nodes, provided that
/// no state is opened twice: each time that a state is opened again can take 12 more bytes.
std::size_t AStarBytesFor(std::size_t nodes, const DomainSpec& spec);

}  // namespace tandem
