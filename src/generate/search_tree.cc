#include "generate/search_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "data/examples.h"
#include "search/hash_set.h"
#include "search/search.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

void SearchTree::Clear() {
  solved_ = false;
  last_ = 0;
  nodes_.clear();
  states_.clear();
  by_hash_.clear();
  rows_.clear();
  exits_.clear();
  hashes_.clear();
  child_nodes_.clear();
}

void SearchTree::Add(const StateBatch& batch, std::size_t i, const StateBackup& backup,
                     std::optional<std::size_t> row) {
  const std::span<const std::uint8_t> bytes = batch.rows()[i];
  const std::uint64_t hash = HashState(bytes);
  const auto next = static_cast<std::uint32_t>(nodes_.size());
  last_ = by_hash_.try_emplace(hash, next).first->second;
  if (last_ != next && !std::ranges::equal(state(last_), bytes)) last_ = next;
  if (row) rows_.push_back({.row = *row, .node = last_});
  if (last_ != next) {
    nodes_[last_].bound = std::min(nodes_[last_].bound, backup.bound);
    return;
  }
  nodes_.push_back(backup);
  states_.insert(states_.end(), bytes.begin(), bytes.end());
  solved_ = solved_ || !std::isinf(backup.known);
  for (std::size_t action = 0; action < num_actions(); ++action) {
    const std::size_t child = i * num_actions() + action;
    const bool unchanged = backup.has_effect[action] == 0;
    const float known = unchanged ? kInfinity : batch.children.KnownCost(child);
    exits_.push_back(domain_.spec().action_costs[action] + known);
    hashes_.push_back(unchanged ? hash : batch.children.hashes()[child]);
    solved_ = solved_ || !std::isinf(known);
  }
}

void SearchTree::BackUpTree() {
  Link();
  std::vector<float> values;
  std::vector<float> leaves;
  for (const StateBackup& node : nodes_) {
    values.push_back(std::isinf(node.known) ? node.bound : node.known);
    leaves.insert(leaves.end(), node.actions.begin(), node.actions.end());
  }
  LowerValues(values, leaves, HasKnownCost());
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
    for (std::size_t action = 0; action < num_actions(); ++action) {
      const float cost = CostBy(values, leaves, node, action);
      // A label must be finite.
      if (std::isinf(cost) && (IsQ(head_) || std::isinf(values[node]))) continue;
      nodes_[node].actions[action] = cost;
    }
  }
}

void SearchTree::BackUpSolution() {
  if (!solved_) return;
  Link();
  std::vector<float> values(nodes_.size());
  for (std::size_t node = 0; node < values.size(); ++node) values[node] = nodes_[node].known;
  LowerValues(values, exits_, HasKnownCost());
  for (const Step& step : CheapestPath(values, exits_)) {
    float& backup = nodes_[step.node].actions[step.action];
    backup = std::min(backup, CostBy(values, exits_, step.node, step.action));
  }
}

std::vector<SearchTree::Step> SearchTree::PathToLast() {
  if (last_ == 0) return {};
  Link();
  std::vector<float> values(nodes_.size(), kInfinity);
  std::vector<std::uint8_t> fixed(nodes_.size(), 0);
  values[last_] = 0;
  fixed[last_] = 1;
  const std::vector<float> no_exits(exits_.size(), kInfinity);
  LowerValues(values, no_exits, fixed);
  std::vector<Step> path = CheapestPath(values, no_exits);
  if (!path.empty()) path.push_back({.node = last_, .action = 0});
  return path;
}

// Finds the nodes of all children. An action that does not apply leads from a node to itself. A
// child whose hash is that of a node is made and compared with it; one call makes all of them.
void SearchTree::Link() {
  if (!child_nodes_.empty()) return;
  child_nodes_.assign(hashes_.size(), kNotExpanded);
  struct Found {
    std::size_t child;
    std::uint32_t node;
  };
  std::vector<Found> all;
  std::vector<Action> actions;
  std::vector<std::uint8_t> children;
  for (std::size_t child = 0; child < hashes_.size(); ++child) {
    const auto at = by_hash_.find(hashes_[child]);
    if (at == by_hash_.end()) continue;
    const auto parent = static_cast<std::uint32_t>(child / num_actions());
    all.push_back({.child = child, .node = at->second});
    actions.push_back(static_cast<Action>(child % num_actions()));
    children.insert(children.end(), state(parent).begin(), state(parent).end());
  }
  const Rows made(children.data(), all.size(), state_size());
  domain_.Apply(made, actions);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (std::ranges::equal(made[i], state(all[i].node))) child_nodes_[all[i].child] = all[i].node;
  }
}

// The cost of an action plus that of what follows: the value of the child's node or, if the child
// is not in the tree, the element of `leaves`, which includes the action's cost.
float SearchTree::CostBy(std::span<const float> values, std::span<const float> leaves,
                         std::uint32_t node, std::size_t action) const {
  const std::size_t i = node * num_actions() + action;
  const std::uint32_t child = child_nodes_[i];
  return child == kNotExpanded ? leaves[i] : domain_.spec().action_costs[action] + values[child];
}

// Lowers the values that are not fixed to the least costs of paths through the tree. Since actions
// cost something, cycles never help. A search mostly expands a state before its children, so going
// backwards takes few rounds.
void SearchTree::LowerValues(std::span<float> values, std::span<const float> leaves,
                             std::span<const std::uint8_t> fixed) const {
  for (bool changed = true; changed;) {
    changed = false;
    for (auto node = static_cast<std::uint32_t>(values.size()); node-- > 0;) {
      if (fixed[node] != 0) continue;
      for (std::size_t action = 0; action < num_actions(); ++action) {
        const float cost = CostBy(values, leaves, node, action);
        if (cost >= values[node]) continue;
        values[node] = cost;
        changed = true;
      }
    }
  }
}

// The steps from the root along the least costs, until they leave the tree or reach a node of value
// 0. Empty if the root has no finite value, or if the sum of costs hides that of an action by
// rounding, so that a cycle looks as cheap as the way out.
std::vector<SearchTree::Step> SearchTree::CheapestPath(std::span<const float> values,
                                                       std::span<const float> leaves) const {
  std::vector<Step> path;
  if (std::isinf(values[0])) return path;
  for (std::uint32_t node = 0; node != kNotExpanded && values[node] > 0;) {
    std::size_t best = 0;
    for (std::size_t action = 1; action < num_actions(); ++action) {
      if (CostBy(values, leaves, node, action) < CostBy(values, leaves, node, best)) best = action;
    }
    if (path.size() == nodes_.size()) return {};
    path.push_back({.node = node, .action = static_cast<Action>(best)});
    node = child_nodes_[node * num_actions() + best];
  }
  return path;
}

std::vector<std::uint8_t> SearchTree::HasKnownCost() const {
  std::vector<std::uint8_t> known;
  known.reserve(nodes_.size());
  for (const StateBackup& node : nodes_) known.push_back(std::isinf(node.known) ? 0 : 1);
  return known;
}

Hindsight::Hindsight(const Domain& domain, Head head)
    : domain_(domain), head_(head), labels_(domain, head) {
  if (domain.spec().moves_goals) return;
  throw InputError(fmt::format(
      "`generate.hindsight: true`: {} cannot give a state another goal; expected a puzzle such "
      "as sokoban or grid, whose problems have goals of their own and whose class has MoveGoals. "
      "Set generate.hindsight to false.",
      domain.spec().name));
}

void Hindsight::MoveGoals(SearchTree& tree, DataBuffer& out) const {
  const std::vector<SearchTree::Step> path = tree.PathToLast();
  if (path.empty()) return;
  const auto state_size = static_cast<std::size_t>(domain_.spec().state_size);
  std::vector<std::uint8_t> memory(path.size() * state_size);
  const Rows states(memory.data(), path.size(), state_size);
  std::vector<Action> actions(path.size());
  for (std::size_t i = 0; i < path.size(); ++i) {
    std::ranges::copy(tree.state(path[i].node), states[i].begin());
    actions[i] = path[i].action;
  }
  domain_.MoveGoals(states, tree.state(path.back().node));
  const std::size_t end = FirstGoal(states);
  if (end == 0) return;  // the search achieved nothing
  // A labelled row with an action says nothing about a goal, where the path ends.
  const bool leaves_goal_out = HasTargets(out.schema()) && TakesAction(head_);
  std::vector<std::uint8_t> changed;
  std::vector<PathRow> paths;
  for (std::size_t i = 0; i < (leaves_goal_out ? end : end + 1); ++i) {
    const std::span<const Action> rest = std::span(actions).subspan(i, end - i);
    for (const SearchTree::Row& each : tree.rows()) {
      if (each.node != path[i].node) continue;
      changed.insert(changed.end(), states[i].begin(), states[i].end());
      paths.push_back({.row = each.row, .rest = rest});
    }
  }
  Write(ConstRows(changed.data(), paths.size(), state_size), paths, out);
}

// The index of the first state that meets its goal.
std::size_t Hindsight::FirstGoal(ConstRows states) const {
  std::vector<std::uint8_t> is_goal(states.size());
  domain_.IsGoal(states, is_goal);
  const auto first = std::ranges::find_if(is_goal, [](std::uint8_t goal) { return goal != 0; });
  if (first != is_goal.end()) return static_cast<std::size_t>(first - is_goal.begin());
  throw Error(fmt::format("domain '{}': MoveGoals gave the state {} a goal that it does not meet",
                          domain_.spec().name, domain_.FormatState(states[states.size() - 1])));
}

// Writes states, from which the actions of `paths` lead to their goal.
void Hindsight::Write(ConstRows states, std::span<const PathRow> paths, DataBuffer& out) const {
  if (HasTargets(out.schema())) {
    labels_.Write(states, paths, out);
    return;
  }
  for (std::size_t i = 0; i < paths.size(); ++i) {
    std::ranges::copy(states[i], out.column(kStateColumn)[paths[i].row].begin());
    out.floats(kBoundColumn)[paths[i].row] = CostOf(domain_.spec(), paths[i].rest);
  }
}

}  // namespace tandem
