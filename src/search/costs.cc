#include "search/costs.h"

#include "tandem/error.h"

namespace tandem {

float LeastCost(const DomainSpec& spec) { return *std::ranges::min_element(spec.action_costs); }

bool CostsDiffer(const DomainSpec& spec) {
  return LeastCost(spec) < std::ranges::max(spec.action_costs);
}

float CostBelow(const DomainSpec& spec, float cost) {
  constexpr float kLess = 1 - 1e-4F;  // more than the rounding that CostBound allows for
  return CostsDiffer(spec) ? cost * kLess : cost - LeastCost(spec);
}

Ranking RankingOf(const Evaluator& network) {
  if (network.action_values() == ActionValues::kQValues) return Ranking::kByActions;
  if (network.estimates_states()) return Ranking::kByStates;
  if (network.action_values() == ActionValues::kSurprisals) return Ranking::kByPolicy;
  throw Error("the evaluator neither estimates states nor gives values of actions");
}

std::optional<Action> BestBy(Ranking ranking, const DomainSpec& spec,
                             std::span<const Action> actions, std::span<const float> values) {
  const float least_cost = LeastCost(spec);
  return BestAction(actions, [&](Action action) {
    const bool by_states = ranking == Ranking::kByStates;
    return by_states ? spec.action_costs[action] - least_cost + values[action] : values[action];
  });
}

}  // namespace tandem
