#include "search/astar.h"

#include <algorithm>
#include <utility>

#include "search/best_first_search.h"
#include "search/node_table.h"

namespace tandem {
namespace {

// Lookups in the node index miss the cache. Prefetching this many children ahead hides the latency.
constexpr std::size_t kPrefetchDistance = 12;

}  // namespace

void AStarTree::SetStartValues(std::span<const float> estimate) {
  SetEstimate(0, estimate.front());
  Open(0);
}

void AStarTree::Pop() {
  popped_.clear();
  if (ended()) return;
  const std::size_t most = std::min(batch(), open().size());
  const std::size_t children = most * static_cast<std::size_t>(spec().num_actions());
  CheckLimits(most, children, open().size() + children);
  if (ended()) return;
  while (popped_.size() < most && !open().empty() && CanImprove(open().least())) {
    const std::uint32_t node = open().Pop();
    if (IsClosed(node)) continue;
    SetClosed(node, true);
    popped_.push_back(node);
  }
  CountExpanded(popped_.size());
  if (popped_.empty()) EndWithoutOpenEntries();
}

void AStarTree::CopyPopped(Rows into) const {
  for (std::size_t i = 0; i < popped_.size(); ++i) {
    std::ranges::copy(nodes().state(popped_[i]), into[i].begin());
  }
}

// A closed node is opened again if a cheaper path to it was found, because that also makes its
// descendants cheaper. If costs do not matter, the order would not change.
void AStarTree::Receive(const Expander& step, std::size_t first) {
  const std::size_t num_actions = spec().num_actions();
  const std::size_t num_children = popped_.size() * num_actions;
  const std::span<const std::uint64_t> hashes = step.hashes().subspan(first, num_children);
  ClearFresh();
  first_fresh_ = static_cast<std::uint32_t>(nodes().size());
  for (std::size_t i = 0; i < num_children; ++i) {
    if (i + kPrefetchDistance < num_children) nodes().Prefetch(hashes[i + kPrefetchDistance]);
    if (step.is_left_out()[first + i] != 0) continue;
    const auto reached =
        Reach(step, first + i, popped_[i / num_actions], static_cast<Action>(i % num_actions));
    if (!reached) continue;
    if (reached->is_new) {
      AddFresh(first + i);
    } else if (reached->node < first_fresh_ && uses_costs()) {
      SetClosed(reached->node, false);
      Open(reached->node);
    }
  }
}

void AStarTree::Open(std::uint32_t node) {
  const float value = ValueOf(nodes()[node]);
  if (CanImprove(value)) open().Push(value, node);
}

void AStarTree::SetValues(std::span<const float> estimates) {
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    const std::uint32_t node = first_fresh_ + static_cast<std::uint32_t>(i);
    SetEstimate(node, estimates[i]);
    Open(node);
  }
}

AStar::AStar(const Domain& domain, Evaluator& network, const Config& config,
             std::shared_ptr<const GoalBall> ball)
    : LockStepSearch("A*", domain, network, config, std::move(ball), domain.spec().num_actions()),
      follows_policy_(network.action_values() == ActionValues::kSurprisals &&
                      config.search.policy_actions > 0) {
  CheckEstimatesStates("A*", network);
}

void AStar::MakeChildren(Running /*running*/, ConstRows states, const StopSignal& stop) {
  expander().Expand(states);
  if (!follows_policy_) return;
  expander().KeepBest(evaluator().EvaluateActions(states, stop),
                      static_cast<std::size_t>(config().policy_actions));
}

std::size_t AStarBytesFor(std::size_t nodes, const DomainSpec& spec) {
  return NodeTable::BytesFor(nodes, static_cast<std::size_t>(spec.state_size)) +
         OpenList::BytesFor(nodes);
}

}  // namespace tandem
