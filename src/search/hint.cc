#include "search/hint.h"

#include <cmath>
#include <limits>
#include <vector>

#include "base/stop_signal.h"
#include "search/batch_evaluator.h"
#include "search/costs.h"
#include "search/expander.h"

namespace tandem {
namespace {

// The best action of the state that `expander` has expanded. estimates[a] is the network's estimate
// of the child of action a; only those of children that are not left out matter.
Hint BestOf(const DomainSpec& spec, const Expander& expander, std::span<const float> estimates) {
  std::vector<float> rests(estimates.size());
  for (std::size_t a = 0; a < rests.size(); ++a) {
    rests[a] = expander.is_goal()[a] != 0 ? 0 : CostToGo(estimates[a]);
  }
  const std::optional<Action> best = GreedyAction(spec, expander.UsefulActions(0), rests);
  if (!best) return {.estimate = std::numeric_limits<float>::infinity()};
  const float rest = rests[*best];
  return {.estimate = spec.action_costs[*best] + rest, .action = best, .rest = rest};
}

}  // namespace

Hint HintByStates(const Domain& domain, Evaluator& v_net, std::span<const std::uint8_t> state) {
  if (IsGoal(domain, state)) return {};
  CheckEstimatesStates("a hint by states", v_net);
  BatchEvaluator evaluator(domain, v_net);
  const float estimate = evaluator.Estimate(ConstRows(state), StopSignal())[0];
  Expander expander(domain);
  expander.Expand(ConstRows(state));
  Hint hint = BestOf(domain.spec(), expander, evaluator.EstimateChildren(expander, StopSignal()));
  hint.estimate = CostToGo(estimate);
  return hint;
}

Hint HintByActions(const Domain& domain, Evaluator& q_net, std::span<const std::uint8_t> state) {
  if (IsGoal(domain, state)) return {};
  CheckActionValues("a hint by actions", q_net, ActionValues::kQValues);
  BatchEvaluator evaluator(domain, q_net);
  const std::span<const float> values = evaluator.EvaluateActions(ConstRows(state), StopSignal());
  std::vector<float> estimates(values.begin(), values.end());
  for (std::size_t a = 0; a < estimates.size(); ++a) estimates[a] -= domain.spec().action_costs[a];
  Expander expander(domain);
  expander.Expand(ConstRows(state));
  return BestOf(domain.spec(), expander, estimates);
}

Hint HintByPolicy(const Domain& domain, Evaluator& policy, std::span<const std::uint8_t> state) {
  if (IsGoal(domain, state)) return {};
  CheckActionValues("a hint by a policy", policy, ActionValues::kSurprisals);
  BatchEvaluator evaluator(domain, policy);
  const std::span<const float> values = evaluator.EvaluateActions(ConstRows(state), StopSignal());
  Expander expander(domain);
  expander.Expand(ConstRows(state));
  Hint hint{.action = BestAction(expander.UsefulActions(0),
                                 [&](Action action) { return values[action]; })};
  if (hint.action) hint.probability = std::exp(-values[*hint.action]);
  return hint;
}

}  // namespace tandem
