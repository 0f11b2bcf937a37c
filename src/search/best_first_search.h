// A* and Q*: best-first searches of many puzzles in lock step.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/stop_signal.h"
#include "config/config.h"
#include "search/costs.h"
#include "search/evaluation.h"
#include "search/expander.h"
#include "search/goal_ball.h"
#include "search/node_table.h"
#include "search/search.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

/// OpenList is a priority queue of nodes by value, least value first. Among equal values the node
/// with the highest number comes first; it is usually the one furthest from the start.
class OpenList {
 public:
  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  std::size_t bytes() const { return heap_.capacity() * sizeof(std::uint64_t); }

  /// An upper bound on the memory, in bytes, for `nodes` entries.
  static std::size_t BytesFor(std::size_t nodes) { return Grown(nodes) * sizeof(std::uint64_t); }

  /// The least value. Requires !empty().
  float least() const { return std::bit_cast<float>(static_cast<std::uint32_t>(heap_[0] >> 32)); }

  /// Requires value >= 0 and not negative zero.
  void Push(float value, std::uint32_t node) {
    if (heap_.size() == heap_.capacity()) heap_.reserve(Grown(heap_.size()));
    heap_.push_back(Key(value, node));
    std::ranges::push_heap(heap_, std::greater());
  }

  /// Removes and returns the node with the least value. Requires !empty().
  std::uint32_t Pop() {
    std::ranges::pop_heap(heap_, std::greater());
    const auto node = ~static_cast<std::uint32_t>(heap_.back());
    heap_.pop_back();
    return node;
  }

 private:
  static std::size_t Grown(std::size_t size) { return size * 3 / 2 + 64; }

  // Non-negative floats compare like their bits, so one comparison orders by value, then by node.
  static std::uint64_t Key(float value, std::uint32_t node) {
    return std::uint64_t{std::bit_cast<std::uint32_t>(value)} << 32 | ~node;
  }

  std::vector<std::uint64_t> heap_;
};

/// OpenEntry says what a best-first search takes from its open list: with A*, a state whose
/// children are to be made; with Q*, an action in a known state whose result is to be made.
enum class OpenEntry { kState, kAction };

/// BestFirstTree holds the distinct states that a best-first search of one puzzle has found, the
/// cheapest known path to each, the open entries, and the cheapest known solution.
///
/// Each step is four calls: Pop, CopyPopped, Receive, SetValues. SetStartValues comes before the
/// first step. Two threads may use different trees at once, but not the same one.
class BestFirstTree {
 public:
  /// Follows the keys weight, batch, max_nodes, max_gib and max_seconds of `config`; a limit of 0
  /// is none, also for `at_most`, the largest allowed cost. `spec` and `config` must outlive this.
  BestFirstTree(OpenEntry entry, const DomainSpec& spec, const SearchConfig& config,
                std::span<const std::uint8_t> start, float at_most = 0);

  /// Ends the search before its first step, with a known cheapest solution.
  void SetSolution(std::vector<Action> actions);

  /// True once the search has ended. From then on the calls of a step have no effect.
  bool ended() const { return stop_reason_.has_value(); }

  /// Sets the values of the start, before the first step unless the search has ended. The values of
  /// a state are its estimate or, for open actions, the Q value of each action. Negative estimates
  /// count as 0.
  void SetStartValues(std::span<const float> values) { SetValuesOf(0, values); }

  /// Chooses the entries to take next, or ends the search.
  void Pop();

  /// The number of entries that Pop chose.
  std::size_t num_popped() const { return popped_.size(); }

  /// Copies the states of the popped entries to `states`, and their actions, if the entries are
  /// actions, to `actions`. Both have num_popped() rows.
  void CopyPopped(Rows states, std::span<Action> actions) const;

  /// The actions of the cheapest known path from the start to popped state i, and its estimate.
  /// Requires that the entries are states.
  std::vector<Action> PathToPopped(std::size_t i) const { return PathTo(popped_[i]); }
  float EstimateOfPopped(std::size_t i) const { return nodes_[popped_[i]].estimate; }

  /// Adds the children of the popped entries: the children of `step` from index `first` on,
  /// num_actions for each state or one for each action.
  void Receive(const Expander& step, std::size_t first);

  /// The children that need values, as indices into the children of the Expander: those that were
  /// found for the first time and, with open actions, those to which a cheaper path was found.
  std::span<const std::uint32_t> fresh() const { return fresh_; }

  /// Sets the values of fresh(), in that order.
  void SetValues(std::span<const float> values);

  /// Adds time that this search took, to which search.max_seconds applies.
  void AddSeconds(double seconds) { seconds_ += seconds; }

  /// Requires ended().
  SearchResult Result() const;

 private:
  struct Goal {
    std::uint32_t parent;
    std::vector<Action> rest;  // from the parent on
    float to_known;            // cost from the parent to a state of known cost
    float known;               // cost-to-go of that state
  };

  // The node that an action reached.
  struct Reached {
    std::uint32_t node;
    bool is_new;  // otherwise a cheaper path to a known node was found
  };

  std::optional<Reached> Reach(const Expander& step, std::size_t child, std::uint32_t parent,
                               Action action);
  void SetValuesOf(std::uint32_t node, std::span<const float> values);
  void OpenState(std::uint32_t node);
  void OpenActions(std::uint32_t node, std::span<const float> values);
  void Push(float value, std::uint32_t entry) {
    if (CanImprove(value)) open_.Push(value, entry);
  }
  void CheckLimits(std::size_t entries);
  std::vector<Action> PathTo(std::uint32_t node) const;

  // With open states, a node is closed if it was expanded since its cost last changed.
  bool IsClosed(std::uint32_t node) const { return nodes_[node].flag != 0; }
  // Whether a node is one of fresh(), whose values are not set yet.
  bool IsFresh(std::uint32_t node) const {
    return opens_states_ ? node >= first_new_ : nodes_[node].flag != 0;
  }
  void SetFlag(std::uint32_t node, bool flag) { nodes_[node].flag = flag ? 1 : 0; }

  // The cost of the solution found, which falls when a cheaper path to the goal's parent is found.
  // Requires that there is a solution.
  double SolutionCost() const {
    return nodes_[goal_->parent].cost + goal_->to_known + goal_->known;
  }

  // Whether an entry of this value may lead to a better solution than the one found. A goal's own
  // value is weight * cost, since its estimate is 0.
  bool CanImprove(float value) const {
    return !goal_ || value < weight_ * static_cast<float>(SolutionCost());
  }

  // Whether costs matter to the search, so that a cheaper path changes what it does.
  bool uses_costs() const { return weight_ != 0 || bound_.is_limited(); }

  const DomainSpec& spec_;
  const SearchConfig& config_;
  const bool opens_states_;
  const std::uint32_t num_actions_;
  const float weight_;
  const std::int64_t max_nodes_;
  const CostBound bound_;
  NodeTable nodes_;
  OpenList open_;                           // nodes, or node * num_actions + action
  std::vector<std::uint32_t> popped_;       // entries of the current step
  std::uint32_t first_new_ = 0;             // of the nodes that the current step adds
  std::vector<std::uint32_t> fresh_;        // children
  std::vector<std::uint32_t> fresh_nodes_;  // their nodes
  std::optional<Goal> goal_;   // the cheapest found; states of known cost are not in nodes_
  std::uint32_t nearest_ = 0;  // the node with the least estimate
  bool full_ = false;          // a state was dropped because of max_nodes
  bool excluded_ = false;      // a state was dropped because of bound_
  std::int64_t generated_ = 0;
  std::int64_t expanded_ = 0;
  double seconds_ = 0;
  std::optional<StopReason> stop_reason_;
};

/// BestFirstSearch searches puzzles by a BestFirstTree each, search.instances at a time. In each
/// step, all trees pop entries, and the evaluations that they need are made together. Puzzles start
/// in their order and finish in any. The time of a step is divided evenly among its trees.
class BestFirstSearch : public Search {
 public:
  void SolveAll(const ProblemBatch& problems, const StopSignal& stop, const Done& done) final;

  std::string Describe() const override;
  std::string_view MainKey() const override { return "search.weight"; }
  std::string Failure(const SearchResult& result) const override;

  /// Says how much memory the node limit takes, because memory grows with the nodes: an upper
  /// bound, plus 12 bytes per entry whenever a cheaper path to a known state is found.
  std::string DescribeMemory() const;

 protected:
  /// Throws Error if the network gives no values for the entries, if search.weight is negative,
  /// infinite or NaN, or if search.batch or search.instances is below 1, and InputError if a step
  /// makes more children than 32 bits can number.
  BestFirstSearch(OpenEntry entry, const Domain& domain, Evaluator& network, const Config& config,
                  std::shared_ptr<const GoalBall> ball);

 private:
  struct Running;

  std::unique_ptr<BestFirstTree> MakeTree(const ProblemBatch& problems, std::size_t number) const;
  void EvaluateStarts(const ProblemBatch& problems, std::span<Running> running,
                      const StopSignal& stop);
  void Step(std::span<Running> running, const StopSignal& stop);
  void MakeChildren(std::span<Running> running, const StopSignal& stop);
  std::span<const float> Evaluate(ConstRows states, const StopSignal& stop);
  const char* name() const { return entry_ == OpenEntry::kState ? "A*" : "Q*"; }

  const OpenEntry entry_;
  const Domain& domain_;
  const SearchConfig config_;
  const std::shared_ptr<const GoalBall> ball_;  // may be null
  const std::size_t children_of_entry_;
  const bool follows_policy_;  // expands only probable actions
  Expander expander_;
  BatchEvaluator evaluator_;

  // Of the current step, over all puzzles.
  std::vector<std::uint8_t> states_;
  std::vector<Action> actions_;
  std::vector<std::uint32_t> fresh_;
  std::vector<std::uint8_t> fresh_states_;
};

/// AStar solves puzzles by batched weighted A* (BWAS; Agostinelli et al. 2019, DeepCubeA). It
/// expands the states with the least weight * cost + estimate first, search.batch states of each
/// puzzle per step. Many puzzles advance in lock step. Each state is evaluated once. The estimate
/// of a goal is 0.
///
/// A state of a ball around the goal counts as a goal whose solution goes on with the path to the
/// goal. Such states are neither stored nor expanded. Their costs are exact, so the bounds below
/// hold.
///
/// A search keeps the cheapest solution found so far. It ends when no open state has a value below
/// weight * cost of that solution. A closed state to which a cheaper path is found is opened again.
/// If the estimates are never above the true cost-to-go, these bounds hold for every batch size:
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
class AStar final : public BestFirstSearch {
 public:
  /// See BestFirstSearch. Needs a network that estimates states.
  AStar(const Domain& domain, Evaluator& network, const Config& config,
        std::shared_ptr<const GoalBall> ball = nullptr)
      : BestFirstSearch(OpenEntry::kState, domain, network, config, std::move(ball)) {}
};

/// QStar solves puzzles by best-first search on actions (Q*; Agostinelli et al. 2021, "A* Search
/// Without Expansions: Learning Heuristic Functions with Deep Q-Networks"). An open entry is an
/// action in a known state. Its value is that of the child in A*, because a Q value is the cost of
/// an action plus the cost-to-go of its result. A child is made only when its entry is taken, and
/// one evaluation of it gives the values of all its children. So Q* makes and evaluates a child
/// where A* makes and evaluates all children of a state.
///
/// What AStar says of batches, the ball and bounds holds here, for Q values that are never above
/// the true ones. A state to which a cheaper path is found is evaluated again, which takes less
/// memory than keeping its values. Actions that undo the last one are not taken.
///
/// search.max_nodes limits the distinct states that are stored. Each of them has up to num_actions
/// open entries, of 8 to 12 bytes.
class QStar final : public BestFirstSearch {
 public:
  /// See BestFirstSearch. Needs a network that gives Q values.
  QStar(const Domain& domain, Evaluator& q_net, const Config& config,
        std::shared_ptr<const GoalBall> ball = nullptr)
      : BestFirstSearch(OpenEntry::kAction, domain, q_net, config, std::move(ball)) {}
};

}  // namespace tandem
