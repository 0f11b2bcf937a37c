#include "search/astar_tree.h"

#include <algorithm>

namespace tandem {
namespace {

// Lookups in the node index miss the cache. Prefetching this many children ahead hides the latency.
constexpr std::size_t kPrefetchDistance = 12;

// A batch is at most the number of states expanded before it divided by kGrowth. The states that a
// search with batch 1 would not have expanded then make up about the same share of all states at
// most, and hard puzzles still reach full batches within a hundred steps.
constexpr std::int64_t kGrowth = 10;

// Also turns negative zero, which OpenList cannot order, into 0.
float AtLeastZero(float estimate) { return estimate > 0 ? estimate : 0; }

}  // namespace

AStarTree::AStarTree(const DomainSpec& spec, const AStarOptions& options,
                     std::span<const std::uint8_t> start, bool start_is_goal)
    : spec_(spec), options_(options), nodes_(start.size()) {
  nodes_.Add(start, HashState(start), {.cost = 0, .estimate = 0, .parent = 0, .closed = 0}, 0);
  if (start_is_goal) ended_ = Ended::kSolved;
}

void AStarTree::SetStartEstimate(float estimate) {
  nodes_[0].estimate = AtLeastZero(estimate);
  Open(0);
}

void AStarTree::Pop() {
  popped_.clear();
  if (ended_) return;
  if (full_) {
    ended_ = Ended::kNodeLimit;
  } else if (options_.max_seconds > 0 && watch_.Seconds() >= options_.max_seconds) {
    ended_ = Ended::kTimeLimit;
  }
  if (ended_) return;
  const std::size_t batch = CurrentBatch();
  while (popped_.size() < batch && !open_.empty() && CanImprove(open_.least())) {
    const std::uint32_t node = open_.Pop();
    if (nodes_[node].closed != 0) continue;
    nodes_[node].closed = 1;
    popped_.push_back(node);
  }
  expanded_ += std::ssize(popped_);
  if (popped_.empty()) ended_ = goal_ ? Ended::kSolved : Ended::kExhausted;
}

std::size_t AStarTree::CurrentBatch() const {
  const auto grown = static_cast<std::size_t>(std::max<std::int64_t>(expanded_ / kGrowth, 1));
  return std::min(grown, options_.batch);
}

// Whether a node of this value may lead to a better solution than the one found. A goal's own value
// is weight * cost, since its estimate is 0.
bool AStarTree::CanImprove(float value) const {
  return !goal_ || value < options_.weight * goal_->cost;
}

void AStarTree::CopyPopped(Rows into) const {
  for (std::size_t i = 0; i < popped_.size(); ++i) {
    std::ranges::copy(nodes_.state(popped_[i]), into[i].begin());
  }
}

void AStarTree::Receive(const Children& step, std::size_t first) {
  const std::size_t num_actions = spec_.num_actions();
  const std::size_t num_children = popped_.size() * num_actions;
  const std::span<const std::uint64_t> hashes = step.hashes().subspan(first, num_children);
  generated_ += static_cast<std::int64_t>(num_children);
  fresh_.clear();
  first_fresh_ = static_cast<std::uint32_t>(nodes_.size());
  for (std::size_t i = 0; i < num_children; ++i) {
    if (i + kPrefetchDistance < num_children) nodes_.Prefetch(hashes[i + kPrefetchDistance]);
    if (step.unchanged()[first + i] != 0) continue;
    AddChild(step, first + i, popped_[i / num_actions], static_cast<Action>(i % num_actions));
  }
}

void AStarTree::AddChild(const Children& step, std::size_t child, std::uint32_t parent,
                         Action action) {
  const float cost = nodes_[parent].cost + spec_.action_costs[action];
  if (goal_ && cost >= goal_->cost) return;
  if (step.is_goal()[child] != 0) {
    goal_ = {.parent = parent, .action = action, .cost = cost};
    return;
  }
  const std::span<const std::uint8_t> state = step.rows()[child];
  const std::uint64_t hash = step.hashes()[child];
  const std::uint32_t known = nodes_.Find(state, hash);
  if (known != NodeTable::kNone) {
    LowerCost(known, parent, action, cost);
  } else if (options_.max_nodes != 0 && nodes_.size() >= options_.max_nodes) {
    full_ = true;
  } else {
    nodes_.Add(state, hash, {.cost = cost, .estimate = 0, .parent = parent, .closed = 0}, action);
    fresh_.push_back(static_cast<std::uint32_t>(child));
  }
}

// Opens a closed node again, because the cheaper path also makes its descendants cheaper.
void AStarTree::LowerCost(std::uint32_t node, std::uint32_t parent, Action action, float cost) {
  NodeTable::Node& known = nodes_[node];
  if (cost >= known.cost) return;
  known.cost = cost;
  known.parent = parent & 0x7FFFFFFFU;
  nodes_.action(node) = action;
  if (node >= first_fresh_) return;  // SetEstimates will open it
  if (options_.weight == 0) return;  // the order does not depend on costs
  known.closed = 0;
  Open(node);
}

void AStarTree::Open(std::uint32_t node) {
  const float value = ValueOf(nodes_[node]);
  if (CanImprove(value)) open_.Push(value, node);
}

void AStarTree::SetEstimates(std::span<const float> estimates) {
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    const std::uint32_t node = first_fresh_ + static_cast<std::uint32_t>(i);
    nodes_[node].estimate = AtLeastZero(estimates[i]);
    if (nodes_[node].estimate < nodes_[nearest_].estimate) nearest_ = node;
    Open(node);
  }
}

std::vector<Action> AStarTree::PathTo(std::uint32_t node) const {
  std::vector<Action> actions;
  for (; node != 0; node = nodes_[node].parent) actions.push_back(nodes_.action(node));
  std::ranges::reverse(actions);
  return actions;
}

SearchResult AStarTree::Result() const {
  SearchResult result{.solved = goal_.has_value() || *ended_ == Ended::kSolved,
                      .ended = *ended_,
                      .nodes = generated_,
                      .expanded = expanded_,
                      .stored = static_cast<std::int64_t>(nodes_.size()),
                      .bytes = static_cast<std::int64_t>(nodes_.bytes() + open_.bytes()),
                      .seconds = watch_.Seconds()};
  if (goal_) {
    result.actions = PathTo(goal_->parent);
    result.actions.push_back(goal_->action);
    // A cheaper path to the goal's parent may have been found since the goal was.
    result.cost = CostOf(spec_, result.actions);
  } else if (!result.solved) {
    result.best = {.actions = PathTo(nearest_), .estimate = nodes_[nearest_].estimate};
    result.best->cost = CostOf(spec_, result.best->actions);
  }
  return result;
}

}  // namespace tandem
