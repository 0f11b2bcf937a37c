#include "search/greedy_descent.h"

#include <algorithm>
#include <utility>

#include "search/batch_evaluator.h"
#include "search/costs.h"
#include "search/expander.h"

namespace tandem {
namespace {

// The descents that have not reached a goal yet.
struct Walkers {
  std::vector<std::size_t> starts;   // index of each walker's start
  std::vector<std::uint8_t> states;  // current state of each walker
};

// Descends from all starts in lock step. evaluate(states, expander) returns a value for each child
// of `states`, which `expander` has expanded. best(actions, values) chooses one of `actions` by the
// values of a state's children, or nothing if there are none.
template <class Evaluate, class Best>
std::vector<std::optional<std::int64_t>> Descend(const Domain& domain, ConstRows starts,
                                                 std::span<const std::int64_t> most_actions,
                                                 const Evaluate& evaluate, const Best& best) {
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

  Expander expander(domain);
  const auto num_actions = static_cast<std::size_t>(domain.spec().num_actions());
  for (std::int64_t step = 1; !walkers.starts.empty(); ++step) {
    const ConstRows states(walkers.states.data(), walkers.starts.size(), starts.row_size());
    expander.Expand(states);
    const std::vector<float> values = evaluate(states, expander);
    Walkers remaining;
    for (std::size_t i = 0; i < walkers.starts.size(); ++i) {
      const std::size_t start = walkers.starts[i];
      const std::size_t first = i * num_actions;
      const auto goals = expander.is_goal().subspan(first, num_actions);
      if (std::ranges::any_of(goals, [](std::uint8_t goal) { return goal != 0; })) {
        taken[start] = step;
        continue;
      }
      const std::optional<Action> action =
          best(expander.UsefulActions(i), std::span(values).subspan(first, num_actions));
      if (action && step < most_actions[start]) {
        add(remaining, start, expander.children()[first + *action]);
      }
    }
    walkers = std::move(remaining);
  }
  return taken;
}

}  // namespace

std::vector<std::optional<std::int64_t>> DescendGreedily(const Domain& domain, Evaluator& network,
                                                         std::size_t rows_at_once, ConstRows starts,
                                                         std::span<const std::int64_t> most_actions,
                                                         const StopSignal& stop) {
  CheckEstimatesStates("greedy descent", network);
  BatchEvaluator evaluator(domain, network, rows_at_once);
  return Descend(
      domain, starts, most_actions,
      [&](ConstRows /*states*/, const Expander& expander) {
        return evaluator.EstimateChildren(expander, stop);
      },
      [&](std::span<const Action> actions, std::span<const float> estimates) {
        return GreedyAction(domain.spec(), actions, estimates);
      });
}

std::vector<std::optional<std::int64_t>> DescendByPolicy(const Domain& domain, Evaluator& policy,
                                                         std::size_t rows_at_once, ConstRows starts,
                                                         std::span<const std::int64_t> most_actions,
                                                         const StopSignal& stop) {
  CheckActionValues("descent by a policy", policy, ActionValues::kSurprisals);
  BatchEvaluator evaluator(domain, policy, rows_at_once);
  return Descend(
      domain, starts, most_actions,
      [&](ConstRows states, const Expander& /*expander*/) {
        const std::span<const float> values = evaluator.EvaluateActions(states, stop);
        return std::vector<float>(values.begin(), values.end());
      },
      [](std::span<const Action> actions, std::span<const float> values) {
        return BestAction(actions, [&](Action action) { return values[action]; });
      });
}

}  // namespace tandem
