// Batched weighted A* search over many puzzles.
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
#include "search/node_table.h"
#include "search/search.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

/// AStarTree holds the A* search of one puzzle. Each step is three calls, in this order: Pop,
/// Receive, SetValues. One tree must not be used by two threads at once; different trees may.
class AStarTree final : public BestFirstTree {
 public:
  /// See BestFirstTree.
  AStarTree(const DomainSpec& spec, const SearchConfig& config, std::span<const std::uint8_t> start,
            float at_most = 0)
      : BestFirstTree(spec, config, start, at_most) {}

  /// Sets the estimate of the start state, which is the only element of `estimate`. Must be called
  /// before the first step unless the search has ended. Negative estimates count as 0, here and in
  /// SetValues.
  void SetStartValues(std::span<const float> estimate);

  /// Chooses the states to expand next, or ends the search.
  void Pop();

  /// The number of states that Pop chose.
  std::size_t num_popped() const { return popped_.size(); }
  /// The actions of the cheapest known path from the start to popped state i.
  std::vector<Action> PathToPopped(std::size_t i) const { return PathTo(popped_[i]); }
  float EstimateOfPopped(std::size_t i) const { return nodes()[popped_[i]].estimate; }
  /// Copies the popped states to `into`, which has num_popped() rows.
  void CopyPopped(Rows into) const;

  /// Adds the children of the popped states, which `step` has expanded. They are its
  /// num_popped() * num_actions children from index `first` on. The states that were found for the
  /// first time are then fresh().
  void Receive(const Expander& step, std::size_t first);

  /// Sets the estimates of fresh(), in that order.
  void SetValues(std::span<const float> estimates);

 private:
  float ValueOf(const NodeTable::Node& node) const {
    return weight() * static_cast<float>(node.cost) + node.estimate;
  }
  void Open(std::uint32_t node);
  // A node is closed if it was expanded since its cost last changed.
  bool IsClosed(std::uint32_t node) const { return nodes()[node].flag != 0; }
  void SetClosed(std::uint32_t node, bool closed) { nodes()[node].flag = closed ? 1 : 0; }

  std::vector<std::uint32_t> popped_;  // nodes of the current step
  std::uint32_t first_fresh_ = 0;      // node of fresh()[0]; fresh()[i] is node first_fresh_ + i
};

/// AStar solves puzzles by batched weighted A* (BWAS; Agostinelli et al. 2019, DeepCubeA). It
/// expands the states with the least weight * cost + estimate first, search.batch states of each
/// puzzle per step, or all open ones if there are fewer. Many puzzles advance in lock step: each
/// step makes one expansion of all popped states and one evaluation of all new states among their
/// children. Each state is evaluated once. The estimate of a goal is 0.
///
/// With a ball around the goal, a state of the ball counts as a goal whose solution goes on with
/// the path to the goal. Such states are neither stored nor expanded. Their costs are exact, so the
/// bounds below hold with a ball too.
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
/// With head vp and search.policy_actions, A* expands only that many of the most probable actions
/// of a state, by one more evaluation per expanded state, and those that lead to a goal or into the
/// ball (as in DeepXube's graph_v_p). The bounds then hold among the solutions that remain.
///
/// States are compared by all their bytes. Without time limits, results do not depend on the number
/// of threads, nor on which puzzles are solved at the same time, except that the evaluator's
/// rounding may depend on its batch.
class AStar final : public LockStepSearch<AStarTree> {
 public:
  /// Follows config.search; passes at most RowsPerCall states per call to the network.
  /// `domain` and `network` must outlive this. `ball` may be null. Throws Error if the network does
  /// not estimate states, and Error and InputError as BestFirstSearch does.
  AStar(const Domain& domain, Evaluator& network, const Config& config,
        std::shared_ptr<const GoalBall> ball = nullptr);

 private:
  void MakeChildren(Running running, ConstRows states, const StopSignal& stop) override;
  std::span<const float> Evaluate(ConstRows states, std::span<const std::uint32_t> chosen,
                                  const StopSignal& stop) override {
    return evaluator().Estimate(states, chosen, stop);
  }

  const bool follows_policy_;  // expands only probable actions
};

/// An upper bound on the memory, in bytes, of one puzzle's search with `nodes` nodes, provided that
/// no state is opened twice: each time that a state is opened again can take 12 more bytes.
std::size_t AStarBytesFor(std::size_t nodes, const DomainSpec& spec);

}  // namespace tandem
