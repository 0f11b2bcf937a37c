// Iterative deepening A* search over many puzzles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "search/evaluation.h"
#include "search/expander.h"
#include "search/goal_ball.h"
#include "search/search.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

/// IdaStar is iterative deepening A* (Korf, "Depth-first iterative-deepening: an optimal admissible
/// tree search", 1985) guided by a network. Each iteration is a depth-first search of the paths
/// whose states all have a value of at most a bound: search.weight times the cost of the path plus
/// the estimate, as in AStar. The first bound is the estimate of the start. Its memory is
/// proportional to the length of a path. In return, it expands a state again in each iteration and
/// on each path that leads to it. No path visits a state twice.
///
/// The next bound is the least value above the current one, but at least the value by which an
/// action raises a path. A network gives nearly every state a value of its own, so without such a
/// step an iteration would add a single state. With it, an iteration allows about one more action,
/// and all iterations before it together expand a fraction of its states. With a small weight,
/// values hardly depend on the length of a path, so the step is at least half the least cost of an
/// action.
///
/// An iteration may therefore pass over the least cost, and does not end with the first solution:
/// it goes on with the states whose value is below search.weight times the solution's cost. If the
/// estimates are never too high, the bounds on a solution's cost are those of AStar. They hold
/// among the solutions of at most search.max_length actions.
///
/// A state in the ball around the goal counts as a goal whose solution goes on with the path to the
/// goal. If that solution would be too long, the search goes on through the state, with its exact
/// cost-to-go as its estimate: if costs differ, a dearer way from it may have fewer actions.
///
/// All starts advance in lock step (SolveInGroups): each step expands one state of each and
/// evaluates all their children together. Each start may take search.max_seconds. Results do not
/// depend on which puzzles are solved together, except that the evaluator's rounding may depend on
/// its batch.
class IdaStar final : public Search {
 public:
  /// Throws Error if the network does not estimate states.
  IdaStar(const Domain& domain, Evaluator& network, const Config& config,
          std::shared_ptr<const GoalBall> ball = nullptr);

  /// Searches from a few thousand starts at a time.
  void SolveAll(const ProblemBatch& problems, const StopSignal& stop, const Done& done) override;

  std::string Describe() const override;
  std::string_view MainKey() const override { return "search.weight"; }
  std::string Failure(const SearchResult& result) const override;

 private:
  struct Puzzle;

  std::vector<Puzzle> Begin(const ProblemBatch& problems, const StopSignal& stop);
  void ChooseState(Puzzle& puzzle) const;
  void BeginIteration(Puzzle& puzzle) const;
  void CheckLimits(Puzzle& puzzle) const;
  void ExpandAll(std::vector<Puzzle>& puzzles, const StopSignal& stop);
  void ChooseChildren(Puzzle& puzzle, std::size_t first, std::vector<std::uint32_t>& chosen) const;
  bool ReachKnown(Puzzle& puzzle, std::size_t child, Action action) const;
  void Receive(Puzzle& puzzle, std::span<const std::uint32_t> children,
               std::span<const float> estimates) const;
  float ValueOf(double cost) const { return weight_ * static_cast<float>(cost); }
  std::int64_t BytesOf(const Puzzle& puzzle) const;
  SearchResult ResultOf(Puzzle& puzzle) const;

  const Domain& domain_;
  const SearchConfig config_;
  const float weight_;
  const float least_step_;  // from one bound to the next
  const bool costs_differ_;
  const std::shared_ptr<const GoalBall> ball_;  // may be null
  Expander expander_;
  BatchEvaluator evaluator_;
  std::vector<std::uint8_t> states_;  // of the current step, one for each puzzle
  std::vector<std::uint8_t> chosen_states_;
};

}  // namespace tandem
