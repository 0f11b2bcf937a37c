// Q*: A* guided by the values of actions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "config/config.h"
#include "search/best_first_search.h"
#include "search/expander.h"
#include "search/goal_ball.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

/// QStarTree holds the Q* search of one puzzle. An open entry is an action in a known state, whose
/// result has not been made yet. Each step is three calls, in this order: Pop, Receive, SetValues.
/// One tree must not be used by two threads at once; different trees may.
class QStarTree final : public BestFirstTree {
 public:
  /// See BestFirstTree.
  QStarTree(const DomainSpec& spec, const SearchConfig& config, std::span<const std::uint8_t> start,
            float at_most);

  /// Sets the Q values of the start state, one per action. Must be called before the first step
  /// unless the search has ended.
  void SetStartValues(std::span<const float> values);

  /// Chooses the actions to take next, or ends the search.
  void Pop();

  /// The number of actions that Pop chose.
  std::size_t num_popped() const { return popped_.size(); }
  /// Copies the states in which the chosen actions are to be taken to `states`, and the actions to
  /// `actions`. Both have num_popped() rows.
  void CopyPopped(Rows states) const;
  void CopyPoppedActions(std::span<Action> actions) const;

  /// Adds the results of the chosen actions, which are children first, first + 1, ... of `step`.
  /// The states whose Q values are needed are then fresh(): those that were found for the first
  /// time, and those to which a cheaper path was found.
  void Receive(const Expander& step, std::size_t first);

  /// Sets the Q values of fresh(), in that order, num_actions for each.
  void SetValues(std::span<const float> values);

 private:
  void Open(std::uint32_t node, std::span<const float> values);
  // Whether a node is one of fresh(), whose Q values are not set yet.
  bool AwaitsValues(std::uint32_t node) const { return nodes()[node].flag != 0; }
  void SetAwaitsValues(std::uint32_t node, bool awaits) { nodes()[node].flag = awaits ? 1 : 0; }

  const std::uint32_t num_actions_;
  std::vector<std::uint32_t> popped_;       // entries of the current step: node * num_actions + a
  std::vector<std::uint32_t> fresh_nodes_;  // the nodes of fresh()
};

/// QStar solves puzzles by best-first search on actions (Q*; Agostinelli et al. 2021, "A* Search
/// Without Expansions: Learning Heuristic Functions with Deep Q-Networks"). An open entry is an
/// action in a known state, ordered by weight * cost + Q value - cost of the action, where cost is
/// that of the path with the action. That is the value of the child in A*, because a Q value is the
/// cost of an action plus the cost-to-go of its result. A child is made only when its entry is
/// taken, and one evaluation of it gives the values of all its children. So Q* makes and evaluates
/// a child where A* makes and evaluates all children of a state.
///
/// Batches, lock step, the ball around the goal, cheaper paths to known states and the bounds on
/// the cost of solutions are those of AStar, with Q values that are never above the true ones in
/// place of admissible estimates. A state to which a cheaper path is found is evaluated again,
/// which takes less memory than keeping its values. Actions that undo the last one are not taken.
///
/// search.max_nodes limits the distinct states that are stored. Each of them has up to num_actions
/// open entries, of 8 to 12 bytes.
class QStar final : public LockStepSearch<QStarTree> {
 public:
  /// Follows config.search; passes at most RowsPerCall states per call to `q_net`.
  /// `domain` and `q_net` must outlive this. `ball` may be null. Throws Error if `q_net` has no Q
  /// values, and Error and InputError as BestFirstSearch does.
  QStar(const Domain& domain, Evaluator& q_net, const Config& config,
        std::shared_ptr<const GoalBall> ball = nullptr);

 private:
  void MakeChildren(Running running, ConstRows states, const StopSignal& stop) override;
  std::span<const float> Evaluate(ConstRows states, std::span<const std::uint32_t> chosen,
                                  const StopSignal& stop) override {
    return evaluator().EvaluateActions(states, chosen, stop);
  }

  std::vector<Action> actions_;  // that all puzzles take in the current step
};

/// An upper bound on the memory, in bytes, of one puzzle's search with `nodes` nodes, provided that
/// no cheaper path to a state is found: each time can take 12 more bytes per action.
std::size_t QStarBytesFor(std::size_t nodes, const DomainSpec& spec);

}  // namespace tandem
