// The best-first search of one puzzle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "config/config.h"
#include "search/cost_bound.h"
#include "search/expander.h"
#include "search/node_table.h"
#include "search/open_list.h"
#include "search/search.h"
#include "tandem/domain.h"

namespace tandem {

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

}  // namespace tandem
