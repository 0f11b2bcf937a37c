// Best-first search of many puzzles in lock step.
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

#include "base/parallel.h"
#include "base/stop_signal.h"
#include "base/stopwatch.h"
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

/// OpenList is a priority queue of nodes by value, least value first. Values must be at least 0.
/// Among equal values the node with the highest number comes first; it is usually the one furthest
/// from the start.
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

  // Non-negative floats compare like their bit patterns, so one integer comparison orders by value
  // and then by node.
  static std::uint64_t Key(float value, std::uint32_t node) {
    return std::uint64_t{std::bit_cast<std::uint32_t>(value)} << 32 | ~node;
  }

  std::vector<std::uint64_t> heap_;
};

/// The number of states that a best-first search may store for one puzzle. 0: no limit.
std::int64_t MostStored(const SearchConfig& config);

/// BestFirstTree holds the distinct states that a best-first search of one puzzle has found, the
/// cheapest known path to each, and the cheapest known solution. A derived class decides what the
/// list of open entries holds and in which order they are taken.
class BestFirstTree {
 public:
  /// Ends the search before its first step, with a known cheapest solution.
  void SetSolution(std::vector<Action> actions);

  /// True once the search has ended. From then on the calls of a step have no effect.
  bool ended() const { return stop_reason_.has_value(); }

  /// The children that need estimates, as indices into the children of the Expander.
  std::span<const std::uint32_t> fresh() const { return fresh_; }

  /// Adds time that this search took, to which search.max_seconds applies.
  void AddSeconds(double seconds) { seconds_ += seconds; }

  /// Requires ended().
  SearchResult Result() const;

 protected:
  /// Follows the keys weight, batch, max_nodes, max_gib and max_seconds of `config`; the limits may
  /// be 0: no limit. It looks for solutions that cost at most `at_most` (0: no limit). It stores at
  /// most `most_nodes` states, whatever the config says. `spec` and `config` must outlive this.
  BestFirstTree(const DomainSpec& spec, const SearchConfig& config,
                std::span<const std::uint8_t> start, float at_most,
                std::int64_t most_nodes = NodeTable::kMostNodes);
  ~BestFirstTree() = default;

  // The node that an action reached.
  struct Reached {
    std::uint32_t node;
    bool is_new;  // otherwise a cheaper path to a known node was found
  };

  // Counts a child of `step`, and adds its state or lowers the cost of its node. Notes a solution
  // that leads through a child of known cost. Returns nothing if neither a new state nor a cheaper
  // path was found.
  std::optional<Reached> Reach(const Expander& step, std::size_t child, std::uint32_t parent,
                               Action action);

  // Sets the estimated cost-to-go of a node. Negative estimates count as 0.
  void SetEstimate(std::uint32_t node, float estimate);

  // Whether an entry of this value may lead to a better solution than the one found. A goal's own
  // value is weight * cost, since its estimate is 0.
  bool CanImprove(float value) const {
    return !goal_ || value < weight_ * static_cast<float>(SolutionCost());
  }

  // Whether costs matter to the search, so that a cheaper path changes what it does.
  bool uses_costs() const { return weight_ != 0 || bound_.is_limited(); }

  // Ends the search if a limit is reached. `entries` is an upper bound on the open entries after
  // the next step, which makes at most `children` new states from `parents` expanded states.
  void CheckLimits(std::size_t parents, std::size_t children, std::size_t entries);

  // Ends the search because no open entry can improve on the solution.
  void EndWithoutOpenEntries();

  // The most entries to take at once.
  std::size_t batch() const { return static_cast<std::size_t>(config_.batch); }

  std::vector<Action> PathTo(std::uint32_t node) const;

  const DomainSpec& spec() const { return spec_; }
  float weight() const { return weight_; }
  NodeTable& nodes() { return nodes_; }
  const NodeTable& nodes() const { return nodes_; }
  OpenList& open() { return open_; }

  // Call these in each step: the states that it expands, and its fresh() children.
  void CountExpanded(std::size_t states) { expanded_ += static_cast<std::int64_t>(states); }
  void ClearFresh() { fresh_.clear(); }
  void AddFresh(std::size_t child) { fresh_.push_back(static_cast<std::uint32_t>(child)); }

 private:
  struct Goal {
    std::uint32_t parent;
    std::vector<Action> rest;  // from the parent on
    float to_known;            // cost from the parent to a state of known cost
    float known;               // cost-to-go of that state
  };

  // The cost of the solution found, which falls when a cheaper path to the goal's parent is found.
  // Requires that there is a solution.
  double SolutionCost() const {
    return nodes_[goal_->parent].cost + goal_->to_known + goal_->known;
  }

  const DomainSpec& spec_;
  const SearchConfig& config_;
  const float weight_;
  NodeTable nodes_;
  OpenList open_;
  std::vector<std::uint32_t> fresh_;
  std::int64_t expanded_ = 0;
  const std::int64_t max_nodes_;
  const CostBound bound_;
  double seconds_ = 0;
  std::optional<Goal> goal_;   // the cheapest found; states of known cost are not in nodes_
  std::uint32_t nearest_ = 0;  // the node with the least estimate
  bool full_ = false;          // a state was dropped because of max_nodes
  bool excluded_ = false;      // a state was dropped because of bound_
  std::optional<StopReason> stop_reason_;
  std::int64_t generated_ = 0;
};

/// Ends `tree` with a known cheapest solution if its start is a goal or lies in `ball`, which may
/// be null, unless the solution costs more than `at_most` (0: no limit).
void SolveIfKnown(BestFirstTree& tree, const Domain& domain, const GoalBall* ball,
                  std::span<const std::uint8_t> start, float at_most);

/// BestFirstSearch is the part of A* and Q* that does not depend on what they expand.
class BestFirstSearch : public Search {
 public:
  std::string Describe() const override;
  std::string_view MainKey() const override { return "search.weight"; }
  std::string Failure(const SearchResult& result) const override;

 protected:
  /// `name` is used in texts: "A*". It must outlive this. Taking an open entry makes
  /// `children_of_entry` children. Throws Error if search.weight is negative, infinite or NaN, or
  /// if search.batch or search.instances is below 1, and InputError if a step makes more children
  /// than 32 bits can number.
  BestFirstSearch(const char* name, const SearchConfig& config, int children_of_entry);

  const SearchConfig& config() const { return config_; }

 private:
  const char* const name_;
  const SearchConfig config_;
};

/// Says how much memory the node limit of `config` takes, because memory grows with the nodes.
/// `bytes_for(nodes)` is an upper bound on the memory of `nodes` nodes.
std::string BestFirstMemory(const char* search, const SearchConfig& config,
                            std::size_t (*bytes_for)(std::size_t nodes, const DomainSpec& spec),
                            const DomainSpec& spec);

/// The search of one puzzle among several.
template <class Tree>
struct RunningTree {
  std::size_t number = 0;  // index of the puzzle
  std::unique_ptr<Tree> tree;
  std::size_t first_state = 0;  // of the tree, among the states of the current step
  std::size_t first_fresh = 0;  // of the tree, among the children that need estimates
};

/// LockStepSearch searches puzzles by trees of one type, search.instances at a time. In each step,
/// all trees pop entries, and the evaluations that they need are made together.
///
/// A Tree is a BestFirstTree with these calls for each step, in this order: Pop; CopyPopped, which
/// gives the num_popped() states from which children are made; Receive, for its children from index
/// `first` of the Expander on; SetValues, with the values of fresh(). SetStartValues comes before
/// the first step.
template <class Tree>
class LockStepSearch : public BestFirstSearch {
 public:
  /// Puzzles start in the order of `problems` and finish in any order. The time of a step is
  /// divided evenly among its trees.
  void SolveAll(const ProblemBatch& problems, const StopSignal& stop, const Done& done) final {
    std::vector<RunningTree<Tree>> running;
    Stopwatch timer;
    for (std::size_t next = 0; next < problems.size() || !running.empty();) {
      const std::size_t old = running.size();
      for (; std::cmp_less(running.size(), config().instances) && next < problems.size(); ++next) {
        running.push_back({.number = next, .tree = MakeTree(problems, next)});
      }
      EvaluateStarts(problems, std::span(running).subspan(old), stop);
      if (stop.Reached()) throw Stopped();
      Step(std::span(running), stop);
      const double share = timer.Lap() / static_cast<double>(running.size());
      for (const auto& each : running) each.tree->AddSeconds(share);
      for (const auto& each : running) {
        if (each.tree->ended()) done(each.number, each.tree->Result());
      }
      std::erase_if(running, [](const auto& each) { return each.tree->ended(); });
    }
  }

 protected:
  using Running = std::span<RunningTree<Tree>>;

  /// See BestFirstSearch. `domain` and `network` must outlive this. `ball` may be null.
  LockStepSearch(const char* name, const Domain& domain, Evaluator& network, const Config& config,
                 std::shared_ptr<const GoalBall> ball, int children_of_entry)
      : BestFirstSearch(name, config.search, children_of_entry),
        domain_(domain),
        ball_(std::move(ball)),
        children_of_entry_(static_cast<std::size_t>(children_of_entry)),
        expander_(domain, ball_),
        evaluator_(domain, network, RowsPerCall(config)) {}

  Expander& expander() { return expander_; }
  BatchEvaluator& evaluator() { return evaluator_; }

 private:
  // Makes the children of `states`, which the trees popped.
  virtual void MakeChildren(Running running, ConstRows states, const StopSignal& stop) = 0;

  // Evaluates the chosen states. Each has the same number of values.
  virtual std::span<const float> Evaluate(ConstRows states, std::span<const std::uint32_t> chosen,
                                          const StopSignal& stop) = 0;

  // Evaluates the starts of trees that were just made.
  void EvaluateStarts(const ProblemBatch& problems, Running running, const StopSignal& stop) {
    fresh_.clear();
    for (auto& each : running) {
      each.first_fresh = fresh_.size();
      if (!each.tree->ended()) fresh_.push_back(static_cast<std::uint32_t>(each.number));
    }
    if (fresh_.empty()) return;
    const std::span<const float> values = Evaluate(problems.states, fresh_, stop);
    const std::size_t width = values.size() / fresh_.size();
    for (auto& each : running) {
      if (each.tree->ended()) continue;
      each.tree->SetStartValues(values.subspan(each.first_fresh * width, width));
    }
  }

  // Makes one step of all trees.
  void Step(Running running, const StopSignal& stop) {
    MakeChildren(running, PopAll(running), stop);
    ForEach(running.size(), [&](std::size_t i) {
      running[i].tree->Receive(expander_, running[i].first_state * children_of_entry_);
    });
    fresh_.clear();
    for (auto& each : running) {
      each.first_fresh = fresh_.size();
      fresh_.insert(fresh_.end(), each.tree->fresh().begin(), each.tree->fresh().end());
    }
    if (fresh_.empty()) return;
    const std::span<const float> values = Evaluate(expander_.children(), fresh_, stop);
    const std::size_t width = values.size() / fresh_.size();
    ForEach(running.size(), [&](std::size_t i) {
      Tree& tree = *running[i].tree;
      tree.SetValues(values.subspan(running[i].first_fresh * width, tree.fresh().size() * width));
    });
  }

  // Pops the entries that all trees take next, and returns their states.
  ConstRows PopAll(Running running) {
    ForEach(running.size(), [&](std::size_t i) { running[i].tree->Pop(); });
    std::size_t count = 0;
    for (auto& each : running) {
      each.first_state = count;
      count += each.tree->num_popped();
    }
    const auto state_size = static_cast<std::size_t>(domain_.spec().state_size);
    states_.resize(count * state_size);
    const Rows states(states_.data(), count, state_size);
    ForEach(running.size(), [&](std::size_t i) {
      const Tree& tree = *running[i].tree;
      tree.CopyPopped(states.Slice(running[i].first_state, tree.num_popped()));
    });
    return states;
  }

  std::unique_ptr<Tree> MakeTree(const ProblemBatch& problems, std::size_t number) const {
    const std::span<const std::uint8_t> start = problems.states[number];
    const float at_most = problems.AtMost(number, config().at_most);
    auto tree = std::make_unique<Tree>(domain_.spec(), config(), start, at_most);
    SolveIfKnown(*tree, domain_, ball_.get(), start, at_most);
    return tree;
  }

  const Domain& domain_;
  const std::shared_ptr<const GoalBall> ball_;  // may be null
  const std::size_t children_of_entry_;
  Expander expander_;
  BatchEvaluator evaluator_;

  // Of the current step, over all puzzles.
  std::vector<std::uint8_t> states_;
  std::vector<std::uint32_t> fresh_;
};

}  // namespace tandem
