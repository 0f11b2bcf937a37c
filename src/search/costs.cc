#include "search/costs.h"

#include <algorithm>

namespace tandem {

float LeastCost(const DomainSpec& spec) { return *std::ranges::min_element(spec.action_costs); }

bool CostsDiffer(const DomainSpec& spec) {
  return LeastCost(spec) < std::ranges::max(spec.action_costs);
}

float CostBelow(const DomainSpec& spec, float cost) {
  constexpr float kLess = 1 - 1e-4F;  // more than the rounding that CostBound allows for
  return CostsDiffer(spec) ? cost * kLess : cost - LeastCost(spec);
}

Ranking RankingOf(Head head) {
  if (!EstimatesCosts(head)) return Ranking::kByPolicy;
  return IsQ(head) ? Ranking::kByActions : Ranking::kByStates;
}

std::optional<Action> GreedyAction(const DomainSpec& spec, std::span<const Action> actions,
                                   std::span<const float> estimates) {
  const float least_cost = LeastCost(spec);
  return BestAction(actions, [&](Action action) {
    return spec.action_costs[action] - least_cost + estimates[action];
  });
}

}  // namespace tandem
