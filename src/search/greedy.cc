#include "search/greedy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "search/expander.h"

namespace tandem {
namespace {

// The descents that have not reached a goal yet.
struct Walkers {
  std::vector<std::size_t> starts;   // index of each walker's start
  std::vector<std::uint8_t> states;  // current state of each walker
};

// The indices that are not marked as unchanged, for children of one state or of many.
template <class Index>
std::vector<Index> Changed(std::span<const std::uint8_t> unchanged) {
  std::vector<Index> changed;
  for (std::size_t i = 0; i < unchanged.size(); ++i) {
    if (unchanged[i] == 0) changed.push_back(static_cast<Index>(i));
  }
  return changed;
}

// Evaluates the children that differ from their parents. Element i of the result belongs to child
// i; it is unspecified where the child equals its parent.
std::vector<float> EstimateChanged(Expander& expander, const StopSignal& stop) {
  const auto changed = Changed<std::uint32_t>(expander.is_left_out());
  const std::span<const float> estimates = expander.Estimate(expander.children(), changed, stop);
  std::vector<float> by_child(expander.size());
  for (std::size_t i = 0; i < changed.size(); ++i) by_child[changed[i]] = estimates[i];
  return by_child;
}

// Descends from all starts in lock step. `evaluate(states)` returns a value for each child of the
// states, which `expander` has expanded. `choose(actions, values)` returns one of `actions`, where
// values[a] belongs to action a.
template <class Evaluate, class Choose>
std::vector<std::optional<std::int64_t>> Descend(const Domain& domain, Expander& expander,
                                                 ConstRows starts,
                                                 std::span<const std::int64_t> most_actions,
                                                 const Evaluate& evaluate, const Choose& choose) {
  std::vector<std::optional<std::int64_t>> taken(starts.size());
  std::vector<std::uint8_t> is_goal(starts.size());
  domain.IsGoal(starts, is_goal);
  Walkers walkers;
  const auto add = [&](Walkers& to, std::size_t start, std::span<const std::uint8_t> state) {
    to.starts.push_back(start);
    to.states.insert(to.states.end(), state.begin(), state.end());
  };
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (is_goal[i] != 0) taken[i] = 0;
    if (is_goal[i] == 0 && most_actions[i] > 0) add(walkers, i, starts[i]);
  }

  const auto num_actions = static_cast<std::size_t>(domain.spec().num_actions());
  for (std::int64_t step = 1; !walkers.starts.empty(); ++step) {
    const ConstRows states(walkers.states.data(), walkers.starts.size(), starts.row_size());
    expander.Expand(states);
    const std::vector<float> values = evaluate(states);
    Walkers remaining;
    for (std::size_t i = 0; i < walkers.starts.size(); ++i) {
      const std::size_t start = walkers.starts[i];
      const std::size_t first = i * num_actions;
      const auto goals = expander.is_goal().subspan(first, num_actions);
      const auto actions = Changed<Action>(expander.is_left_out().subspan(first, num_actions));
      const std::optional<Action> best =
          choose(actions, std::span(values).subspan(first, num_actions));
      if (std::ranges::any_of(goals, [](std::uint8_t goal) { return goal != 0; })) {
        taken[start] = step;
      } else if (best && step < most_actions[start]) {
        add(remaining, start, expander.children()[first + *best]);
      }
    }
    walkers = std::move(remaining);
  }
  return taken;
}

// The action with the least value.
std::optional<Action> LeastAction(std::span<const Action> actions, std::span<const float> values) {
  return BestAction(actions, [&](Action action) { return values[action]; });
}

}  // namespace

std::vector<std::optional<std::int64_t>> DescendGreedily(const Domain& domain, Evaluator& evaluator,
                                                         std::size_t evaluate_rows,
                                                         ConstRows starts,
                                                         std::span<const std::int64_t> most_actions,
                                                         const StopSignal& stop) {
  Expander expander(domain, evaluator, evaluate_rows);
  return Descend(
      domain, expander, starts, most_actions,
      [&](ConstRows /*states*/) { return EstimateChanged(expander, stop); },
      [&](std::span<const Action> actions, std::span<const float> estimates) {
        return GreedyAction(domain.spec(), actions, estimates);
      });
}

std::vector<std::optional<std::int64_t>> DescendByPolicy(const Domain& domain, QEvaluator& policy,
                                                         std::size_t evaluate_rows,
                                                         ConstRows starts,
                                                         std::span<const std::int64_t> most_actions,
                                                         const StopSignal& stop) {
  Expander expander(domain, policy, evaluate_rows);
  return Descend(
      domain, expander, starts, most_actions,
      [&](ConstRows states) {
        const std::span<const float> values = expander.EstimateActions(policy, states, stop);
        return std::vector<float>(values.begin(), values.end());
      },
      LeastAction);
}

namespace {

// rest[a] is the network's estimate of the child of action a.
Hint BestOf(const DomainSpec& spec, const Expander& expander, std::span<const float> rest) {
  const auto value = [&](Action a) {
    return BackedUpCost(spec, a, expander.is_goal()[a] != 0, rest[a]);
  };
  const std::optional<Action> best = BestAction(Changed<Action>(expander.is_left_out()), value);
  if (!best) return {.estimate = std::numeric_limits<float>::infinity()};
  return {.estimate = value(*best),
          .action = best,
          .rest = CostToGo(expander.is_goal()[*best] != 0, rest[*best])};
}

}  // namespace

Hint HintByStates(const Domain& domain, Evaluator& v_net, std::span<const std::uint8_t> state) {
  if (IsGoal(domain, state)) return {};
  Expander expander(domain, v_net);
  const float estimate = expander.Estimate(ConstRows(state), StopSignal())[0];
  expander.Resize(1);
  expander.ExpandRange(ConstRows(state), 0);
  expander.EstimateAll();
  Hint hint = BestOf(domain.spec(), expander, expander.estimates());
  hint.estimate = CostToGo(/*is_goal=*/false, estimate);
  return hint;
}

Hint HintByActions(const Domain& domain, QEvaluator& q_net, std::span<const std::uint8_t> state) {
  if (IsGoal(domain, state)) return {};
  Expander expander(domain, q_net);
  expander.Expand(ConstRows(state));
  const std::span<const float> values =
      expander.EstimateActions(q_net, ConstRows(state), StopSignal());
  std::vector<float> rest(values.begin(), values.end());
  for (std::size_t a = 0; a < rest.size(); ++a) rest[a] -= domain.spec().action_costs[a];
  return BestOf(domain.spec(), expander, rest);
}

Hint HintByPolicy(const Domain& domain, QEvaluator& policy, std::span<const std::uint8_t> state) {
  if (IsGoal(domain, state)) return {};
  Expander expander(domain, policy);
  expander.Expand(ConstRows(state));
  const std::span<const float> values =
      expander.EstimateActions(policy, ConstRows(state), StopSignal());
  Hint hint{.action = LeastAction(Changed<Action>(expander.is_left_out()), values)};
  if (hint.action) hint.probability = std::exp(-values[*hint.action]);
  return hint;
}

}  // namespace tandem
