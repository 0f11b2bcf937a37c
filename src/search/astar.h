// Batched weighted A* search over many puzzles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/stopwatch.h"
#include "config/config.h"
#include "search/ball.h"
#include "search/cost_bound.h"
#include "search/expander.h"
#include "search/node_table.h"
#include "search/search.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

/// AStarTree holds the A* search of one puzzle. Each step is three calls, in this order: Pop,
/// Receive, SetEstimates. One tree must not be used by two threads at once; different trees may.
class AStarTree {
 public:
  /// Follows the keys weight, batch, max_nodes, max_gib and max_seconds of `config`; the limits may
  /// be 0: no limit. The time limit starts here. It looks for solutions that cost at most `at_most`
  /// (0: no limit). `spec` and `config` must outlive this.
  AStarTree(const DomainSpec& spec, const SearchConfig& config, std::span<const std::uint8_t> start,
            float at_most = 0);

  /// Ends the search before its first step, with a known cheapest solution.
  void SetSolution(std::vector<Action> actions);

  /// Makes the search look only for solutions that cost less than this one. Must be called before
  /// SetStartEstimate.
  void SetUpperBound(std::vector<Action> actions);

  /// Sets the estimate of the start state. Must be called before the first step unless the search
  /// has ended. Negative estimates count as 0, here and in SetEstimates.
  void SetStartEstimate(float estimate);

  /// Ends the search as its time limit does.
  void Stop() { ended_ = Ended::kTimeLimit; }

  /// True once the search has ended. From then on the calls of a step have no effect.
  bool ended() const { return ended_.has_value(); }

  /// Chooses the states to expand next, or ends the search.
  void Pop();

  /// The number of states that Pop chose.
  std::size_t num_popped() const { return popped_.size(); }
  /// The actions of the cheapest known path from the start to popped state i.
  std::vector<Action> PathToPopped(std::size_t i) const { return PathTo(popped_[i]); }
  float EstimateOfPopped(std::size_t i) const { return nodes_[popped_[i]].estimate; }
  /// Copies the popped states to `into`, which has num_popped() rows.
  void CopyPopped(Rows into) const;

  /// Adds the children of the popped states, which `step` has expanded. They are its
  /// num_popped() * num_actions children from index `first` on.
  void Receive(const Expander& step, std::size_t first);

  /// The children that were stored for the first time, as indices into the children of `step`. They
  /// need estimates.
  std::span<const std::uint32_t> fresh() const { return fresh_; }
  /// Sets the estimates of fresh(), in that order.
  void SetEstimates(std::span<const float> estimates);

  /// Requires ended().
  SearchResult Result() const;

 private:
  struct Goal {
    std::uint32_t parent;
    std::vector<Action> rest;  // from the parent on
    float cost;
  };

  float ValueOf(const NodeTable::Node& node) const { return weight_ * node.cost + node.estimate; }
  std::size_t CurrentBatch() const;
  std::int64_t BytesAfterStep() const;
  bool CanImprove(float value) const;
  void AddChild(const Expander& step, std::size_t child, std::uint32_t parent, Action action);
  void LowerCost(std::uint32_t node, std::uint32_t parent, Action action, float cost);
  void Open(std::uint32_t node);
  std::vector<Action> PathTo(std::uint32_t node) const;

  const DomainSpec& spec_;
  const SearchConfig& config_;
  const std::int64_t max_nodes_;  // 0: no limit
  const float weight_;
  const CostBound bound_;
  const Stopwatch watch_;

  NodeTable nodes_;
  OpenList open_;              // a node is pushed again each time its value falls
  std::optional<Goal> goal_;   // the cheapest found; states of known cost are not in nodes_
  std::uint32_t nearest_ = 0;  // the node with the least estimate
  bool full_ = false;          // a state was dropped because of max_nodes
  bool excluded_ = false;      // a state was dropped because of bound_
  std::optional<Ended> ended_;
  std::int64_t generated_ = 0;
  std::int64_t expanded_ = 0;

  // The current step.
  std::vector<std::uint32_t> popped_;
  std::vector<std::uint32_t> fresh_;
  std::uint32_t first_fresh_ = 0;  // node of fresh_[0]; fresh_[i] is node first_fresh_ + i
};

/// AStar solves puzzles by batched weighted A* (BWAS; Agostinelli et al. 2019, DeepCubeA). It
/// expands the states with the least weight * cost + estimate first, up to search.batch states of
/// each puzzle per step. Many puzzles advance in lock step: each step makes one expansion of all
/// popped states and one evaluation of all new states among their children. Each state is evaluated
/// once. The estimate of a goal is 0.
///
/// A search starts with one state per step. Its batch then grows to a tenth of the states that it
/// has expanded. So an easy puzzle expands few states, and a hard one fills the evaluator's
/// batches.
///
/// With a ball around the goal, a state of the ball counts as a goal whose solution goes on with
/// the way home. Such states are neither stored nor expanded. Their costs are exact, so the bounds
/// below hold with a ball too.
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
  /// Follows config.search; passes at most inference.batch_size states per call to the evaluator.
  /// `domain` and `evaluator` must outlive this. Throws Error if search.weight is negative,
  /// infinite or NaN, or if search.batch or search.instances is below 1. `ball` may be null.
  AStar(const Domain& domain, Evaluator& evaluator, const Config& config,
        std::shared_ptr<const GoalBall> ball = nullptr);

  /// Puzzles start in the order of `starts` and finish in any order.
  void SolveAll(const Starts& starts, const StopSignal& stop, const Done& done) override;

  std::string Describe() const override;
  std::string_view MainKey() const override { return "search.weight"; }
  std::string Failure(const SearchResult& result) const override;

 private:
  struct Running {
    std::size_t number;  // index of the puzzle in `starts`
    std::unique_ptr<AStarTree> tree;
    std::size_t first_state = 0;  // of the tree, in states_
    std::size_t first_fresh = 0;  // of the tree, in fresh_
  };

  std::unique_ptr<AStarTree> MakeTree(std::span<const std::uint8_t> start, float at_most) const;
  void Step(std::vector<Running>& running, const StopSignal& stop);

  const Domain& domain_;
  const SearchConfig config_;
  const std::shared_ptr<const GoalBall> ball_;  // may be null
  Expander expander_;

  // Buffers of the current step, over all puzzles.
  std::vector<std::uint8_t> states_;
  std::vector<std::uint32_t> fresh_;
};

/// Says how much memory the node limit of `config` takes, because memory grows with the nodes.
std::string AStarMemory(const SearchConfig& config, const DomainSpec& spec);

/// An upper bound on the memory, in bytes, of one puzzle's search with `nodes` nodes, provided that
/// no state is opened twice: each time that a state is opened again can take 12 more bytes.
std::size_t AStarBytesFor(std::size_t nodes, const DomainSpec& spec);

}  // namespace tandem
