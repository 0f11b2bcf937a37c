#include "generate/hindsight.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "data/examples.h"
#include "search/search.h"
#include "tandem/error.h"

namespace tandem {

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
  for (std::size_t i = 0; i <= end; ++i) {
    const std::span<const Action> rest = std::span(actions).subspan(i, end - i);
    for (const SearchTree::Row& each : tree.rows()) {
      if (each.node == path[i].node) Write(states[i], rest, out, each.row);
    }
  }
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

// Writes `state`, from which the actions `rest` lead to its goal.
void Hindsight::Write(std::span<const std::uint8_t> state, std::span<const Action> rest,
                      DataBuffer& out, std::size_t row) const {
  if (!HasTargets(out.schema())) {
    std::ranges::copy(state, out.column(kStateColumn)[row].begin());
    out.floats(kBoundColumn)[row] = CostOf(domain_.spec(), rest);
    return;
  }
  // A row with an action says nothing about a goal, where the path ends.
  if (TakesAction(head_) && rest.empty()) return;
  labels_.Write(state, rest, out, row);
}

}  // namespace tandem
