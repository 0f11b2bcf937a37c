// Code that A* and Q* share: the search of one puzzle, and of many in lock step.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/stopwatch.h"
#include "config/config.h"
#include "search/ball.h"
#include "search/cost_bound.h"
#include "search/expander.h"
#include "search/node_table.h"
#include "search/search.h"
#include "tandem/domain.h"

namespace tandem {

/// BestFirstTree holds the distinct states that a best-first search of one puzzle has found, the
/// cheapest known path to each, and the cheapest known solution. A derived class decides what the
/// list of open entries holds and in which order they are taken.
class BestFirstTree {
 public:
  /// Ends the search before its first step, with a known cheapest solution.
  void SetSolution(std::vector<Action> actions);

  /// Makes the search look only for solutions that cost less than this one. Must be called before
  /// the estimates of the start state are set.
  void SetUpperBound(std::vector<Action> actions);

  /// Ends the search as its time limit does.
  void Stop() { ended_ = Ended::kTimeLimit; }

  /// True once the search has ended. From then on the calls of a step have no effect.
  bool ended() const { return ended_.has_value(); }

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
  bool CanImprove(float value) const { return !goal_ || value < weight_ * goal_->cost; }

  // Whether costs matter to the search, so that a cheaper path changes what it does.
  bool uses_costs() const { return weight_ != 0 || bound_.is_limited(); }

  // Ends the search if a limit is reached. `entries` is an upper bound on the open entries after
  // the next step, which makes at most `children` new states from `parents` expanded states.
  void CheckLimits(std::size_t parents, std::size_t children, std::size_t entries);

  // Ends the search because no open entry can improve on the solution.
  void EndWithoutOpenEntries();

  // The number of entries to take at once: a tenth of those taken before, and at most search.batch.
  std::size_t CurrentBatch() const;

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
    float cost;
  };

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
  std::optional<Ended> ended_;
  std::int64_t generated_ = 0;
};

/// Ends `tree` with a known cheapest solution if its start is a goal or lies in `ball`, which may
/// be null, unless the solution costs more than `at_most` (0: no limit).
void SolveIfKnown(BestFirstTree& tree, const Domain& domain, const GoalBall* ball,
                  std::span<const std::uint8_t> start, float at_most);

/// The number of states that a best-first search may store for one puzzle. 0: no limit.
std::int64_t MostStored(const SearchConfig& config);

/// BestFirstSearch is the part of A* and Q* that does not depend on what they expand.
class BestFirstSearch : public Search {
 public:
  std::string_view MainKey() const override { return "search.weight"; }
  std::string Failure(const SearchResult& result) const override;

 protected:
  /// `name` is used in errors: "A*". Throws Error if search.weight is negative, infinite or NaN, or
  /// if search.batch or search.instances is below 1.
  BestFirstSearch(const char* name, const SearchConfig& config);

  const SearchConfig& config() const { return config_; }

 private:
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

/// Searches `puzzles` puzzles, at most `instances` at a time, in lock step. `make(number)` returns
/// the tree of a puzzle. `start(trees)` estimates the starts of trees that were just made, and
/// `step(trees)` makes one step of all. Calls `done(number, result)` when a tree has ended. The
/// time of a step is divided evenly among its trees.
template <class Tree, class Make, class Start, class Step, class Done>
void SearchInLockStep(std::size_t puzzles, std::int64_t instances, const Make& make,
                      const Start& start, const Step& step, const Done& done) {
  using Running = RunningTree<Tree>;
  std::vector<Running> running;
  LapTimer timer;
  for (std::size_t next = 0; next < puzzles || !running.empty();) {
    const std::size_t old = running.size();
    for (; std::cmp_less(running.size(), instances) && next < puzzles; ++next) {
      running.push_back({.number = next, .tree = make(next)});
    }
    start(std::span(running).subspan(old));
    step(std::span(running));
    const double share = timer.Next() / static_cast<double>(running.size());
    for (const Running& each : running) each.tree->AddSeconds(share);
    for (const Running& each : running) {
      if (each.tree->ended()) done(each.number, each.tree->Result());
    }
    std::erase_if(running, [](const Running& each) { return each.tree->ended(); });
  }
}

}  // namespace tandem
