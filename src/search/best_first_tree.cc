#include "search/best_first_tree.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "search/costs.h"
#include "search/hash_set.h"

namespace tandem {

std::int64_t MostStored(const SearchConfig& config) {
  return config.max_nodes.value_or(SearchConfig::kAStarNodes);
}

BestFirstTree::BestFirstTree(const DomainSpec& spec, const SearchConfig& config,
                             std::span<const std::uint8_t> start, float at_most,
                             std::int64_t most_nodes)
    : spec_(spec),
      config_(config),
      weight_(static_cast<float>(config.weight)),
      nodes_(start.size()),
      max_nodes_(MostStored(config) > 0 ? std::min(MostStored(config), most_nodes) : most_nodes),
      bound_(at_most) {
  nodes_.Add(start, HashState(start), {.cost = 0, .estimate = 0, .parent = 0, .flag = 0}, 0);
}

void BestFirstTree::SetSolution(std::vector<Action> actions) {
  const float cost = CostOf(spec_, actions);
  goal_ = {.parent = 0, .rest = std::move(actions), .to_known = 0, .known = cost};
  stop_reason_ = StopReason::kSolved;
}

void BestFirstTree::CheckLimits(std::size_t parents, std::size_t children, std::size_t entries) {
  if (full_) {
    stop_reason_ = StopReason::kNodeLimit;
    return;
  }
  if (config_.max_seconds > 0 && seconds_ >= config_.max_seconds) {
    stop_reason_ = StopReason::kTimeLimit;
    return;
  }
  const std::size_t nodes =
      std::min(nodes_.size() + children, static_cast<std::size_t>(max_nodes_));
  const std::size_t stored =
      std::max(NodeTable::BytesFor(nodes, static_cast<std::size_t>(spec_.state_size)),
               nodes_.bytes()) +
      std::max(OpenList::BytesFor(entries), open_.bytes());
  const std::int64_t bytes = static_cast<std::int64_t>(stored) +
                             Expander::BytesFor(spec_, static_cast<std::int64_t>(parents));
  stop_reason_ = WorkLimits{.max_bytes = config_.max_bytes()}.ExceededBy(0, bytes);
}

void BestFirstTree::EndWithoutOpenEntries() {
  if (goal_) {
    stop_reason_ = StopReason::kSolved;
  } else {
    stop_reason_ = excluded_ ? StopReason::kCostLimit : StopReason::kExhausted;
  }
}

std::optional<BestFirstTree::Reached> BestFirstTree::Reach(const Expander& step, std::size_t child,
                                                           std::uint32_t parent, Action action) {
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
  if (goal_ && cost + step.known_costs().least_unknown() >= SolutionCost()) return std::nullopt;
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

void BestFirstTree::SetEstimate(std::uint32_t node, float estimate) {
  nodes_[node].estimate = CostToGo(estimate);
  if (nodes_[node].estimate < nodes_[nearest_].estimate) nearest_ = node;
}

std::vector<Action> BestFirstTree::PathTo(std::uint32_t node) const {
  std::vector<Action> actions;
  for (; node != 0; node = nodes_[node].parent) actions.push_back(nodes_.action(node));
  std::ranges::reverse(actions);
  return actions;
}

SearchResult BestFirstTree::Result() const {
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
    // Cheaper paths to states before the goal's parent may have been found since its cost was set.
    result.cost = CostOf(spec_, result.actions);
  } else if (!result.solved) {
    result.best = {.actions = PathTo(nearest_), .estimate = nodes_[nearest_].estimate};
    result.best->cost = CostOf(spec_, result.best->actions);
  }
  return result;
}

}  // namespace tandem
