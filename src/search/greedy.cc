#include "search/greedy.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "search/expander.h"

namespace tandem {
namespace {

// The descents that have not reached a goal yet.
struct Walkers {
  std::vector<std::size_t> starts;   // index of each walker's start
  std::vector<std::uint8_t> states;  // current state of each walker
};

std::vector<std::uint32_t> ChangedChildren(const Expander& expander) {
  std::vector<std::uint32_t> chosen;
  for (std::size_t i = 0; i < expander.unchanged().size(); ++i) {
    if (expander.unchanged()[i] == 0) chosen.push_back(static_cast<std::uint32_t>(i));
  }
  return chosen;
}

// For each parent, the child with the least sum of action cost and estimate; ties go to the lower
// index. Nothing if none of the parent's children was evaluated.
std::vector<std::optional<std::uint32_t>> BestChildren(std::size_t parents, const DomainSpec& spec,
                                                       std::span<const std::uint32_t> evaluated,
                                                       std::span<const float> estimates) {
  const auto num_actions = static_cast<std::size_t>(spec.num_actions());
  const float least_cost = *std::ranges::min_element(spec.action_costs);
  std::vector<std::optional<std::uint32_t>> best(parents);
  std::vector<float> least(parents, std::numeric_limits<float>::infinity());
  for (std::size_t i = 0; i < evaluated.size(); ++i) {
    const std::size_t parent = evaluated[i] / num_actions;
    const float value = estimates[i] + (spec.action_costs[evaluated[i] % num_actions] - least_cost);
    if (!best[parent] || value < least[parent]) {
      best[parent] = evaluated[i];
      least[parent] = value;
    }
  }
  return best;
}

}  // namespace

std::vector<std::optional<std::int64_t>> DescendGreedily(const Domain& domain, Evaluator& evaluator,
                                                         std::size_t evaluate_rows,
                                                         ConstRows starts,
                                                         std::span<const std::int64_t> most_actions,
                                                         const StopSignal& stop) {
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

  Expander expander(domain, evaluator, evaluate_rows);
  const auto num_actions = static_cast<std::size_t>(domain.spec().num_actions());
  for (std::int64_t step = 1; !walkers.starts.empty(); ++step) {
    expander.Expand(ConstRows(walkers.states.data(), walkers.starts.size(), starts.row_size()));
    const std::vector<std::uint32_t> evaluated = ChangedChildren(expander);
    const auto best = BestChildren(walkers.starts.size(), domain.spec(), evaluated,
                                   expander.Estimate(expander.children(), evaluated, stop));
    Walkers remaining;
    for (std::size_t i = 0; i < walkers.starts.size(); ++i) {
      const std::size_t start = walkers.starts[i];
      const auto goals = expander.is_goal().subspan(i * num_actions, num_actions);
      if (std::ranges::any_of(goals, [](std::uint8_t goal) { return goal != 0; })) {
        taken[start] = step;
      } else if (best[i] && step < most_actions[start]) {
        add(remaining, start, expander.children()[*best[i]]);
      }
    }
    walkers = std::move(remaining);
  }
  return taken;
}

namespace {

// rest[a] is the estimated cost-to-go of the child of action a.
Hint BestOf(const DomainSpec& spec, const Expander& expander, std::span<const float> rest) {
  Hint hint;
  float least = std::numeric_limits<float>::infinity();
  for (std::size_t a = 0; a < rest.size(); ++a) {
    if (expander.unchanged()[a] != 0) continue;  // the action does not apply
    const float to_go = expander.is_goal()[a] != 0 ? 0.0F : std::max(rest[a], 0.0F);
    if (spec.action_costs[a] + to_go >= least) continue;
    least = spec.action_costs[a] + to_go;
    hint.action = static_cast<Action>(a);
    hint.rest = to_go;
  }
  hint.estimate = least;
  return hint;
}

}  // namespace

Hint HintByStates(const Domain& domain, Evaluator& v_net, std::span<const std::uint8_t> state) {
  if (IsGoal(domain, state)) return {};
  Expander expander(domain, v_net, domain.spec().num_actions());
  const StopSignal never;
  const std::uint32_t first = 0;
  const float estimate = expander.Estimate(ConstRows(state), {&first, 1}, never)[0];
  expander.Expand(ConstRows(state));
  std::vector<std::uint32_t> every(expander.children().size());
  std::iota(every.begin(), every.end(), 0U);
  Hint hint = BestOf(domain.spec(), expander, expander.Estimate(expander.children(), every, never));
  hint.estimate = std::max(estimate, 0.0F);
  return hint;
}

Hint HintByActions(const Domain& domain, QEvaluator& q_net, std::span<const std::uint8_t> state) {
  if (IsGoal(domain, state)) return {};
  Expander expander(domain, q_net, domain.spec().num_actions());
  expander.Expand(ConstRows(state));
  const std::span<const float> values =
      expander.EstimateActions(q_net, ConstRows(state), StopSignal());
  std::vector<float> rest(values.begin(), values.end());
  for (std::size_t a = 0; a < rest.size(); ++a) rest[a] -= domain.spec().action_costs[a];
  return BestOf(domain.spec(), expander, rest);
}

}  // namespace tandem
