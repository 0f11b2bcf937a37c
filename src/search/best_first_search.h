// The tree of a best-first search of one puzzle.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "config/config.h"
#include "search/costs.h"
#include "search/expander.h"
#include "search/hash_set.h"
#include "search/node_table.h"
#include "search/search.h"
#include "tandem/domain.h"

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
                std::span<const std::uint8_t> start, float at_most = 0)
      : spec_(spec),
        config_(config),
        opens_states_(entry == OpenEntry::kState),
        num_actions_(static_cast<std::uint32_t>(spec.num_actions())),
        weight_(static_cast<float>(config.weight)),
        max_nodes_(MostNodes(entry, spec, config)),
        bound_(at_most),
        nodes_(start.size()) {
    nodes_.Add(start, HashState(start), {.cost = 0, .estimate = 0, .parent = 0, .flag = 0}, 0);
  }

  /// The number of states that a search may store for one puzzle. 0: no limit.
  static std::int64_t MostStored(const SearchConfig& config) {
    return config.max_nodes.value_or(SearchConfig::kAStarNodes);
  }

  /// Ends the search before its first step, with a known cheapest solution.
  void SetSolution(std::vector<Action> actions) {
    const float cost = CostOf(spec_, actions);
    goal_ = {.parent = 0, .rest = std::move(actions), .to_known = 0, .known = cost};
    stop_reason_ = StopReason::kSolved;
  }

  /// True once the search has ended. From then on the calls of a step have no effect.
  bool ended() const { return stop_reason_.has_value(); }

  /// Sets the values of the start, before the first step unless the search has ended. The values of
  /// a state are its estimate or, for open actions, the Q value of each action. Negative estimates
  /// count as 0.
  void SetStartValues(std::span<const float> values) { SetValuesOf(0, values); }

  /// Chooses the entries to take next, or ends the search.
  void Pop() {
    popped_.clear();
    if (ended()) return;
    const std::size_t most = std::min(static_cast<std::size_t>(config_.batch), open_.size());
    CheckLimits(most);
    if (ended()) return;
    while (popped_.size() < most && !open_.empty() && CanImprove(open_.least())) {
      const std::uint32_t entry = open_.Pop();
      if (opens_states_ && IsClosed(entry)) continue;
      if (opens_states_) SetFlag(entry, true);
      popped_.push_back(entry);
    }
    expanded_ += std::ssize(popped_);
    if (!popped_.empty()) return;
    stop_reason_ = goal_       ? StopReason::kSolved
                   : excluded_ ? StopReason::kCostLimit
                               : StopReason::kExhausted;
  }

  /// The number of entries that Pop chose.
  std::size_t num_popped() const { return popped_.size(); }

  /// Copies the states of the popped entries to `states`, and their actions, if the entries are
  /// actions, to `actions`. Both have num_popped() rows.
  void CopyPopped(Rows states, std::span<Action> actions) const {
    for (std::size_t i = 0; i < popped_.size(); ++i) {
      const std::uint32_t node = opens_states_ ? popped_[i] : popped_[i] / num_actions_;
      std::ranges::copy(nodes_.state(node), states[i].begin());
      if (!opens_states_) actions[i] = static_cast<Action>(popped_[i] % num_actions_);
    }
  }

  /// The actions of the cheapest known path from the start to popped state i, and its estimate.
  /// Requires that the entries are states.
  std::vector<Action> PathToPopped(std::size_t i) const { return PathTo(popped_[i]); }
  float EstimateOfPopped(std::size_t i) const { return nodes_[popped_[i]].estimate; }

  /// Adds the children of the popped entries: the children of `step` from index `first` on,
  /// num_actions for each state or one for each action.
  void Receive(const Expander& step, std::size_t first) {
    const std::size_t children_of_entry = opens_states_ ? num_actions_ : 1;
    const std::size_t num_children = popped_.size() * children_of_entry;
    const std::span<const std::uint64_t> hashes = step.hashes().subspan(first, num_children);
    fresh_.clear();
    fresh_nodes_.clear();
    first_new_ = static_cast<std::uint32_t>(nodes_.size());
    for (std::size_t i = 0; i < num_children; ++i) {
      if (i + kPrefetchDistance < num_children) nodes_.Prefetch(hashes[i + kPrefetchDistance]);
      if (step.is_left_out()[first + i] != 0) continue;
      const std::uint32_t entry = popped_[i / children_of_entry];
      const std::uint32_t parent = opens_states_ ? entry : entry / num_actions_;
      const auto action =
          static_cast<Action>(opens_states_ ? i % num_actions_ : entry % num_actions_);
      const std::optional<Reached> reached = Reach(step, first + i, parent, action);
      if (!reached) continue;
      // If a cheaper path to a known state was found, its descendants become cheaper too. An open
      // list of states takes the state again; open actions need its values, which are not kept. If
      // costs do not matter, the order would not change.
      if (!reached->is_new && (!uses_costs() || IsFresh(reached->node))) continue;
      if (opens_states_ && !reached->is_new) {
        SetFlag(reached->node, false);
        OpenState(reached->node);
        continue;
      }
      if (!opens_states_) SetFlag(reached->node, true);
      fresh_.push_back(static_cast<std::uint32_t>(first + i));
      fresh_nodes_.push_back(reached->node);
    }
  }

  /// The children that need values, as indices into the children of the Expander: those that were
  /// found for the first time and, with open actions, those to which a cheaper path was found.
  std::span<const std::uint32_t> fresh() const { return fresh_; }

  /// Sets the values of fresh(), in that order.
  void SetValues(std::span<const float> values) {
    const std::size_t width = opens_states_ ? 1 : num_actions_;
    for (std::size_t i = 0; i < fresh_nodes_.size(); ++i) {
      SetValuesOf(fresh_nodes_[i], values.subspan(i * width, width));
    }
  }

  /// Adds time that this search took, to which search.max_seconds applies.
  void AddSeconds(double seconds) { seconds_ += seconds; }

  /// Requires ended().
  SearchResult Result() const {
    SearchResult result{.solved = goal_.has_value() || *stop_reason_ == StopReason::kSolved,
                        .stop_reason = *stop_reason_,
                        .nodes = generated_,
                        .expanded = expanded_,
                        .stored = static_cast<std::int64_t>(nodes_.size()),
                        .bytes = static_cast<std::int64_t>(nodes_.bytes() + open_.bytes()),
                        .seconds = seconds_};
    if (goal_) {
      result.actions = PathTo(goal_->parent);
      result.actions.insert(result.actions.end(), goal_->rest.begin(), goal_->rest.end());
      // Cheaper paths to states before the goal's parent may have been found since its cost was
      // set.
      result.cost = CostOf(spec_, result.actions);
    } else if (!result.solved) {
      result.best = {.actions = PathTo(nearest_), .estimate = nodes_[nearest_].estimate};
      result.best->cost = CostOf(spec_, result.best->actions);
    }
    return result;
  }

 private:
  // Look-ups miss the cache. Prefetching this many children ahead hides the latency.
  static constexpr std::size_t kPrefetchDistance = 12;

  // The number of nodes that entries can name, or fewer if the config says so.
  static std::int64_t MostNodes(OpenEntry entry, const DomainSpec& spec,
                                const SearchConfig& config) {
    const std::int64_t most =
        entry == OpenEntry::kState
            ? static_cast<std::int64_t>(NodeTable::kMostNodes)
            : std::int64_t{std::numeric_limits<std::uint32_t>::max()} / spec.num_actions();
    return MostStored(config) > 0 ? std::min(MostStored(config), most) : most;
  }

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

  // Counts a child of `step`, and adds its state, lowers the cost of its node, or notes the
  // solution through a child of known cost. Returns nothing unless the state or its cheaper path is
  // new.
  std::optional<Reached> Reach(const Expander& step, std::size_t child, std::uint32_t parent,
                               Action action) {
    ++generated_;
    const double cost = nodes_[parent].cost + spec_.action_costs[action];
    if (goal_ && cost >= SolutionCost()) return std::nullopt;
    if (bound_.Excludes(cost + step.LeastCostToGo(child))) {
      excluded_ = true;
      return std::nullopt;
    }
    if (const float rest = step.KnownCost(child); !std::isinf(rest)) {
      if (goal_ && cost + rest >= SolutionCost()) return std::nullopt;
      goal_ = {.parent = parent,
               .rest = step.PathToGoal(child),
               .to_known = spec_.action_costs[action],
               .known = rest};
      goal_->rest.insert(goal_->rest.begin(), action);
      return std::nullopt;
    }
    if (goal_ && cost + step.least_unknown() >= SolutionCost()) return std::nullopt;
    const std::span<const std::uint8_t> state = step.children()[child];
    const std::uint64_t hash = step.hashes()[child];
    const std::uint32_t known = nodes_.Find(state, hash);
    if (known == NodeTable::kNone) {
      if (std::cmp_greater_equal(nodes_.size(), max_nodes_)) {
        full_ = true;
        return std::nullopt;
      }
      const auto node = static_cast<std::uint32_t>(nodes_.size());
      nodes_.Add(state, hash, {.cost = cost, .estimate = 0, .parent = parent, .flag = 0}, action);
      return Reached{.node = node, .is_new = true};
    }
    if (cost >= nodes_[known].cost) return std::nullopt;
    nodes_.SetPath(known, cost, parent, action);
    return Reached{.node = known, .is_new = false};
  }

  void SetValuesOf(std::uint32_t node, std::span<const float> values) {
    nodes_[node].estimate = CostToGo(std::ranges::min(values));
    if (nodes_[node].estimate < nodes_[nearest_].estimate) nearest_ = node;
    if (opens_states_) {
      OpenState(node);
    } else {
      SetFlag(node, false);
      OpenActions(node, values);
    }
  }

  void OpenState(std::uint32_t node) {
    Push(weight_ * static_cast<float>(nodes_[node].cost) + nodes_[node].estimate, node);
  }

  void OpenActions(std::uint32_t node, std::span<const float> values) {
    const auto cost = static_cast<float>(nodes_[node].cost);
    for (std::uint32_t action = 0; action < num_actions_; ++action) {
      const bool undoes = node != 0 && !spec_.inverse_actions.empty() &&
                          spec_.inverse_actions[nodes_.action(node)] == action;
      if (undoes) continue;
      const float of_action = spec_.action_costs[action];
      Push(weight_ * (cost + of_action) + CostToGo(values[action] - of_action),
           node * num_actions_ + action);
    }
  }

  void Push(float value, std::uint32_t entry) {
    if (CanImprove(value)) open_.Push(value, entry);
  }

  // Ends the search if a limit is reached, at the latest by a step that takes `entries` entries.
  void CheckLimits(std::size_t entries) {
    if (full_) {
      stop_reason_ = StopReason::kNodeLimit;
      return;
    }
    if (config_.max_seconds > 0 && seconds_ >= config_.max_seconds) {
      stop_reason_ = StopReason::kTimeLimit;
      return;
    }
    const std::size_t children = opens_states_ ? entries * num_actions_ : entries;
    const std::size_t nodes =
        std::min(nodes_.size() + children, static_cast<std::size_t>(max_nodes_));
    const std::size_t stored =
        std::max(NodeTable::BytesFor(nodes, static_cast<std::size_t>(spec_.state_size)),
                 nodes_.bytes()) +
        std::max(OpenList::BytesFor(open_.size() + entries * num_actions_), open_.bytes());
    const std::int64_t bytes = static_cast<std::int64_t>(stored) +
                               Expander::BytesFor(spec_, static_cast<std::int64_t>(entries));
    stop_reason_ = WorkLimitExceeded(config_, /*nodes=*/0, bytes);
  }

  std::vector<Action> PathTo(std::uint32_t node) const {
    std::vector<Action> actions;
    for (; node != 0; node = nodes_[node].parent) actions.push_back(nodes_.action(node));
    std::ranges::reverse(actions);
    return actions;
  }

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

}  // namespace tandem
