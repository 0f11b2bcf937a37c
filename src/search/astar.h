// Batched weighted A*.
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

/// Expands the states of least weight * cost + estimate first, up to `batch` of each puzzle at a
/// time and many puzzles in lock step: one expansion of all that is popped, one evaluation of all
/// new states among their children. Each state is estimated once, and goals count 0.
///
/// A search begins with one state at a time. Its batch grows to a tenth of the states that it has
/// expanded, so an easy puzzle costs few states and a hard one fills the evaluator's batches.
///
/// A search keeps the cheapest solution met and ends once no open state could lead to a cheaper one
/// by its value; a closed state to which a cheaper path is found is opened again. So, where
/// estimates are admissible (never above the true cost-to-go), whatever the batch:
///   - with a weight of 1 or more, the solution is one of least cost;
///   - with a smaller one, its cost is at most 1 / weight times the least;
///   - with weight 0, greedy best-first search, it is whatever solution is met first.
/// The order is that of 32-bit floats: "least" is meant to within their rounding.
///
/// States are told apart by all their bytes. Results depend on neither the number of threads nor
/// (but for the evaluator's own rounding) on what else is searched at the time; time limits aside.
class AStar final : public Search {
 public:
  /// `domain` and `evaluator` must outlive this. Throws Error if the options make no sense.
  AStar(const Domain& domain, Evaluator& evaluator, AStarOptions options);

  /// Puzzles begin in the order of `starts` and end in any order.
  void SolveAll(ConstRows starts, const StopSignal& stop, const Done& done) override;

 private:
  struct Running {
    std::size_t number;  // of the puzzle, among the starts
    std::unique_ptr<AStarTree> tree;
  };

  Running Begin(std::size_t number, ConstRows starts, std::vector<std::uint32_t>& to_estimate);
  void Step(std::vector<Running>& running, const StopSignal& stop);

  const Domain& domain_;
  const AStarOptions options_;
  Expander expander_;

  // Of the step in hand, over all puzzles.
  std::vector<std::size_t> first_state_;  // by puzzle: where its states begin
  std::vector<std::uint8_t> states_;
  std::vector<std::uint32_t> fresh_;
};

/// The most memory that the search of one puzzle takes for so many nodes, as a rule: states that
/// are opened twice take 12 bytes more.
std::size_t AStarBytesFor(std::size_t nodes, const DomainSpec& spec);

}  // namespace tandem
