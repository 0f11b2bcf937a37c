#include "search/q_star.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/parallel.h"
#include "search/best_first_search.h"
#include "search/costs.h"
#include "search/node_table.h"

namespace tandem {

QStarTree::QStarTree(const DomainSpec& spec, const SearchConfig& config,
                     std::span<const std::uint8_t> start, float at_most)
    // The entry of an action in a node has the number node * num_actions + action.
    : BestFirstTree(spec, config, start, at_most,
                    std::numeric_limits<std::uint32_t>::max() / spec.num_actions()),
      num_actions_(static_cast<std::uint32_t>(spec.num_actions())) {}

void QStarTree::SetStartValues(std::span<const float> values) { Open(0, values); }

void QStarTree::Pop() {
  popped_.clear();
  if (ended()) return;
  const std::size_t most = std::min(batch(), open().size());
  CheckLimits(most, most, open().size() + most * num_actions_);
  if (ended()) return;
  while (popped_.size() < most && !open().empty() && CanImprove(open().least())) {
    popped_.push_back(open().Pop());
  }
  CountExpanded(popped_.size());
  if (popped_.empty()) EndWithoutOpenEntries();
}

void QStarTree::CopyPopped(Rows states) const {
  for (std::size_t i = 0; i < popped_.size(); ++i) {
    std::ranges::copy(nodes().state(popped_[i] / num_actions_), states[i].begin());
  }
}

void QStarTree::CopyPoppedActions(std::span<Action> actions) const {
  for (std::size_t i = 0; i < popped_.size(); ++i) {
    actions[i] = static_cast<Action>(popped_[i] % num_actions_);
  }
}

void QStarTree::Receive(const Expander& step, std::size_t first) {
  ClearFresh();
  fresh_nodes_.clear();
  for (std::size_t i = 0; i < popped_.size(); ++i) {
    const std::size_t child = first + i;
    if (step.is_left_out()[child] != 0) continue;
    const auto reached = Reach(step, child, popped_[i] / num_actions_,
                               static_cast<Action>(popped_[i] % num_actions_));
    if (!reached || (!reached->is_new && !uses_costs())) continue;
    if (AwaitsValues(reached->node)) continue;
    SetAwaitsValues(reached->node, true);
    AddFresh(child);
    fresh_nodes_.push_back(reached->node);
  }
}

void QStarTree::SetValues(std::span<const float> values) {
  for (std::size_t i = 0; i < fresh_nodes_.size(); ++i) {
    Open(fresh_nodes_[i], values.subspan(i * num_actions_, num_actions_));
  }
}

// Adds the actions in a node to the open entries, and sets the node's estimate.
void QStarTree::Open(std::uint32_t node, std::span<const float> values) {
  SetAwaitsValues(node, false);
  SetEstimate(node, std::ranges::min(values));
  const auto cost = static_cast<float>(nodes()[node].cost);
  for (std::uint32_t action = 0; action < num_actions_; ++action) {
    const bool undoes = node != 0 && !spec().inverse_actions.empty() &&
                        spec().inverse_actions[nodes().action(node)] == action;
    if (undoes) continue;
    const float of_action = spec().action_costs[action];
    const float value = weight() * (cost + of_action) + CostToGo(values[action] - of_action);
    if (CanImprove(value)) open().Push(value, node * num_actions_ + action);
  }
}

QStar::QStar(const Domain& domain, Evaluator& q_net, const Config& config,
             std::shared_ptr<const GoalBall> ball)
    : LockStepSearch("Q*", domain, q_net, config, std::move(ball), /*children_of_entry=*/1) {
  CheckActionValues("Q*", q_net, ActionValues::kQValues);
}

void QStar::MakeChildren(Running running, ConstRows states, const StopSignal& /*stop*/) {
  actions_.resize(states.size());
  ForEach(running.size(), [&](std::size_t i) {
    const QStarTree& tree = *running[i].tree;
    tree.CopyPoppedActions(std::span(actions_).subspan(running[i].first_state, tree.num_popped()));
  });
  expander().Step(states, actions_);
}

std::size_t QStarBytesFor(std::size_t nodes, const DomainSpec& spec) {
  return NodeTable::BytesFor(nodes, static_cast<std::size_t>(spec.state_size)) +
         OpenList::BytesFor(nodes * static_cast<std::size_t>(spec.num_actions()));
}

}  // namespace tandem
